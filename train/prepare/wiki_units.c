#include "train/prepare/wiki_units.h"

#include <string.h>

#define POUND 0.45359237
#define GALLON 0.003785411784
#define IMPERIAL 0.00454609
#define BARREL 0.158987294928
#define MILE 1609.344
#define FORCE 4.4482216152605

/* clang-format off */
static const struct wiki_unit units[] = {
{"km", "kilometre", "kilometres", "km", 'l', 1000, 0, "mi"},
{"mi|mile|miles|smi", "mile", "miles", "mi", 'l', 1609.344, 0, "km"},
{"m", "metre", "metres", "m", 'l', 1, 0, "ft"},
{"ft|foot|feet", "foot", "feet", "ft", 'l', 0.3048, 0, "m"},
{"cm", "centimetre", "centimetres", "cm", 'l', 0.01, 0, "in"},
{"mm", "millimetre", "millimetres", "mm", 'l', 0.001, 0, "in"},
{"in|inch|inches", "inch", "inches", "in", 'l', 0.0254, 0, "mm"},
{"yd|yard|yards", "yard", "yards", "yd", 'l', 0.9144, 0, "m"},
{"nmi", "nautical mile", "nautical miles", "nmi", 'l', 1852, 0, "km mi"},
{"um|µm|μm", "micrometre", "micrometres", "μm", 'l', 1e-6, 0, "in"},
{"nm", "nanometre", "nanometres", "nm", 'l', 1e-9, 0, "in"},
{"fathom", "fathom", "fathoms", "fathoms", 'l', 1.8288, 0, "ft m"},
{"furlong", "furlong", "furlongs", "furlongs", 'l', 201.168, 0, "ft m"},
{"chain", "chain", "chains", "chains", 'l', 20.1168, 0, "ft m"},
{"hand", "hand", "hands", "h", 'l', 0.1016, 0, "in cm"},
{"ly", "light-year", "light-years", "ly", 'l', 9.4607304725808e15, 0, "km"},
{"pc", "parsec", "parsecs", "pc", 'l', 3.0856775814671916e16, 0, "ly"},
{"au|AU", "astronomical unit", "astronomical units", "au", 'l', 149597870700.0, 0, "km mi"},
{"km2|sqkm", "square kilometre", "square kilometres", "km2", 'a', 1e6, 0, "sqmi"},
{"sqmi|mi2", "square mile", "square miles", "sq mi", 'a', 2589988.110336, 0, "km2"},
{"ha|hectare", "hectare", "hectares", "ha", 'a', 1e4, 0, "acre"},
{"acre|acres", "acre", "acres", "acres", 'a', 4046.8564224, 0, "ha"},
{"m2|sqm", "square metre", "square metres", "m2", 'a', 1, 0, "sqft"},
{"sqft|ft2", "square foot", "square feet", "sq ft", 'a', 0.09290304, 0, "m2"},
{"cm2|sqcm", "square centimetre", "square centimetres", "cm2", 'a', 1e-4, 0, "sqin"},
{"mm2", "square millimetre", "square millimetres", "mm2", 'a', 1e-6, 0, "sqin"},
{"sqin|in2", "square inch", "square inches", "sq in", 'a', 0.00064516, 0, "cm2"},
{"sqyd|yd2", "square yard", "square yards", "sq yd", 'a', 0.83612736, 0, "m2"},
{"sqnmi", "square nautical mile", "square nautical miles", "sq nmi", 'a', 3429904, 0, "km2 sqmi"},
{"dunam|dunum", "dunam", "dunams", "dunams", 'a', 1000, 0, "ha acre"},
{"kg", "kilogram", "kilograms", "kg", 'm', 1, 0, "lb"},
{"lb|lbs", "pound", "pounds", "lb", 'm', POUND, 0, "kg"},
{"g|gm", "gram", "grams", "g", 'm', 0.001, 0, "oz"},
{"mg", "milligram", "milligrams", "mg", 'm', 1e-6, 0, "gr"},
{"gr|grain", "grain", "grains", "gr", 'm', POUND / 7000, 0, "g"},
{"oz", "ounce", "ounces", "oz", 'm', POUND / 16, 0, "g"},
{"ozt|troyounce", "troy ounce", "troy ounces", "ozt", 'm', 0.0311034768, 0, "oz g"},
{"st|stone", "stone", "stone", "st", 'm', 14 * POUND, 0, "lb kg"},
{"t|tonne|MT|mt", "tonne", "tonnes", "t", 'm', 1000, 0, "LT ST"},
{"LT|long ton|lt", "long ton", "long tons", "long tons", 'm', 2240 * POUND, 0, "t ST"},
{"ST|short ton|tons", "short ton", "short tons", "short tons", 'm', 2000 * POUND, 0, "t LT"},
{"kt", "kilotonne", "kilotonnes", "kt", 'm', 1e6, 0, "LT ST"},
{"carat", "carat", "carats", "carats", 'm', 0.0002, 0, "g"},
{"C|°C|degC|celsius", "degree Celsius", "degrees Celsius", "°C", 'T', 1, -273.15, "F"},
{"F|°F|degF", "degree Fahrenheit", "degrees Fahrenheit", "°F", 'T', 5.0 / 9, 32 - 273.15 * 9 / 5, "C"},
{"K", "kelvin", "kelvins", "K", 'T', 1, 0, "C F"},
{"C-change", "degree Celsius", "degrees Celsius", "°C", 'd', 1, 0, "F-change"},
{"F-change", "degree Fahrenheit", "degrees Fahrenheit", "°F", 'd', 5.0 / 9, 0, "C-change"},
{"km/h|kph|km/hr", "kilometre per hour", "kilometres per hour", "km/h", 's', 1 / 3.6, 0, "mph"},
{"mph|mi/h", "mile per hour", "miles per hour", "mph", 's', 0.44704, 0, "km/h"},
{"kn|knot|knots|kt-speed", "knot", "knots", "kn", 's', 1852.0 / 3600, 0, "km/h mph"},
{"m/s", "metre per second", "metres per second", "m/s", 's', 1, 0, "ft/s"},
{"ft/s", "foot per second", "feet per second", "ft/s", 's', 0.3048, 0, "m/s"},
{"ft/min", "foot per minute", "feet per minute", "ft/min", 's', 0.3048 / 60, 0, "m/s"},
{"km/s", "kilometre per second", "kilometres per second", "km/s", 's', 1000, 0, "mi/s"},
{"mi/s", "mile per second", "miles per second", "mi/s", 's', 1609.344, 0, "km/s"},
{"L|l|litre|liter", "litre", "litres", "L", 'v', 0.001, 0, "impgal USgal"},
{"ml|mL|cc-ml", "millilitre", "millilitres", "ml", 'v', 1e-6, 0, "impoz USoz"},
{"cl|cL", "centilitre", "centilitres", "cl", 'v', 1e-5, 0, "impoz USoz"},
{"hl|hL", "hectolitre", "hectolitres", "hl", 'v', 0.1, 0, "impgal USgal"},
{"m3|cum", "cubic metre", "cubic metres", "m3", 'v', 1, 0, "cuft"},
{"km3", "cubic kilometre", "cubic kilometres", "km3", 'v', 1e9, 0, "cumi"},
{"cm3|cc", "cubic centimetre", "cubic centimetres", "cm3", 'v', 1e-6, 0, "cuin"},
{"cuft|ft3", "cubic foot", "cubic feet", "cu ft", 'v', 0.028316846592, 0, "m3"},
{"cuin|in3", "cubic inch", "cubic inches", "cu in", 'v', 1.6387064e-5, 0, "cm3"},
{"cumi", "cubic mile", "cubic miles", "cu mi", 'v', 4168181825.440579584, 0, "km3"},
{"cuyd|yd3", "cubic yard", "cubic yards", "cu yd", 'v', 0.764554857984, 0, "m3"},
{"USgal|U.S.gal|gal|usgal", "US gallon", "US gallons", "US gal", 'v', GALLON, 0, "L impgal"},
{"impgal", "imperial gallon", "imperial gallons", "imp gal", 'v', IMPERIAL, 0, "L USgal"},
{"USoz|USfloz", "US fluid ounce", "US fluid ounces", "US fl oz", 'v', GALLON / 128, 0, "ml"},
{"impoz|impfloz", "imperial fluid ounce", "imperial fluid ounces", "imp fl oz", 'v', IMPERIAL / 160, 0, "ml"},
{"USpt", "US pint", "US pints", "US pt", 'v', GALLON / 8, 0, "L imppt"},
{"imppt|pt", "imperial pint", "imperial pints", "imp pt", 'v', IMPERIAL / 8, 0, "L"},
{"USqt|qt", "US quart", "US quarts", "US qt", 'v', GALLON / 4, 0, "L"},
{"acre.ft|acreft|acre·ft", "acre-foot", "acre-feet", "acre⋅ft", 'v', 1233.48183754752, 0, "m3"},
{"oilbbl|bbl", "barrel", "barrels", "bbl", 'v', BARREL, 0, "m3"},
{"koilbbl", "thousand barrels", "thousand barrels", "kbbl", 'v', 1e3 * BARREL, 0, "m3"},
{"Moilbbl", "million barrels", "million barrels", "Mbbl", 'v', 1e6 * BARREL, 0, "m3"},
{"Goilbbl", "billion barrels", "billion barrels", "Gbbl", 'v', 1e9 * BARREL, 0, "m3"},
{"U.S.bu|USbu|bu", "US bushel", "US bushels", "US bsh", 'v', 0.03523907016688, 0, "L"},
{"oilbbl/d|bbl/d", "barrel per day", "barrels per day", "bbl/d", 'f', BARREL / 86400, 0, "m3/d"},
{"koilbbl/d", "thousand barrels per day", "thousand barrels per day", "kbbl/d", 'f', 1e3 * BARREL / 86400, 0, "m3/d"},
{"Moilbbl/d", "million barrels per day", "million barrels per day", "Mbbl/d", 'f', 1e6 * BARREL / 86400, 0, "m3/d"},
{"m3/d", "cubic metre per day", "cubic metres per day", "m3/d", 'f', 1 / 86400.0, 0, "cuft/d"},
{"cuft/d", "cubic foot per day", "cubic feet per day", "cu ft/d", 'f', 0.028316846592 / 86400, 0, "m3/d"},
{"m3/s|cumecs", "cubic metre per second", "cubic metres per second", "m3/s", 'f', 1, 0, "cuft/s"},
{"cuft/s|cufts", "cubic foot per second", "cubic feet per second", "cu ft/s", 'f', 0.028316846592, 0, "m3/s"},
{"PD/sqmi|/sqmi|PD/sqmile", "inhabitant per square mile", "inhabitants per square mile", "/sq mi", 'p', 1 / 2.589988110336, 0, "PD/km2"},
{"PD/km2|/km2|PD/sqkm", "inhabitant per square kilometre", "inhabitants per square kilometre", "/km2", 'p', 1, 0, "PD/sqmi"},
{"hp|bhp|shp|ihp", "horsepower", "horsepower", "hp", 'w', 745.69987158227022, 0, "kW"},
{"PS|metric hp", "metric horsepower", "metric horsepower", "PS", 'w', 735.49875, 0, "hp kW"},
{"W|watt", "watt", "watts", "W", 'w', 1, 0, "hp"},
{"kW", "kilowatt", "kilowatts", "kW", 'w', 1000, 0, "hp"},
{"MW", "megawatt", "megawatts", "MW", 'w', 1e6, 0, "hp"},
{"J", "joule", "joules", "J", 'e', 1, 0, "cal"},
{"kJ", "kilojoule", "kilojoules", "kJ", 'e', 1000, 0, "kcal"},
{"MJ", "megajoule", "megajoules", "MJ", 'e', 1e6, 0, "kWh"},
{"cal", "calorie", "calories", "cal", 'e', 4.184, 0, "J"},
{"kcal|Cal", "kilocalorie", "kilocalories", "kcal", 'e', 4184, 0, "kJ"},
{"kWh|kW.h", "kilowatt-hour", "kilowatt-hours", "kWh", 'e', 3.6e6, 0, "MJ"},
{"MWh|MW.h", "megawatt-hour", "megawatt-hours", "MWh", 'e', 3.6e9, 0, "GJ"},
{"GJ", "gigajoule", "gigajoules", "GJ", 'e', 1e9, 0, "kWh"},
{"TWh", "terawatt-hour", "terawatt-hours", "TWh", 'e', 3.6e15, 0, "PJ"},
{"PJ", "petajoule", "petajoules", "PJ", 'e', 1e15, 0, "TWh"},
{"eV", "electronvolt", "electronvolts", "eV", 'e', 1.602176634e-19, 0, "J"},
{"ftlb|ftlbf", "foot-pound", "foot-pounds", "ft⋅lbf", 'e', 1.3558179483314004, 0, "J"},
{"lbft|lb.ft|lbf.ft", "pound-foot", "pound-feet", "lb⋅ft", 'q', 1.3558179483314004, 0, "Nm"},
{"Nm|N.m|N·m", "newton-metre", "newton-metres", "N⋅m", 'q', 1, 0, "lbft"},
{"N", "newton", "newtons", "N", 'F', 1, 0, "lbf"},
{"kN", "kilonewton", "kilonewtons", "kN", 'F', 1000, 0, "lbf"},
{"lbf", "pound-force", "pounds-force", "lbf", 'F', FORCE, 0, "N"},
{"kPa", "kilopascal", "kilopascals", "kPa", 'P', 1000, 0, "psi"},
{"Pa", "pascal", "pascals", "Pa", 'P', 1, 0, "psi"},
{"MPa", "megapascal", "megapascals", "MPa", 'P', 1e6, 0, "ksi"},
{"GPa", "gigapascal", "gigapascals", "GPa", 'P', 1e9, 0, "psi"},
{"hPa", "hectopascal", "hectopascals", "hPa", 'P', 100, 0, "inHg"},
{"bar", "bar", "bars", "bar", 'P', 1e5, 0, "kPa"},
{"mbar", "millibar", "millibars", "mbar", 'P', 100, 0, "inHg"},
{"atm", "standard atmosphere", "standard atmospheres", "atm", 'P', 101325, 0, "kPa"},
{"psi", "pound per square inch", "pounds per square inch", "psi", 'P', 6894.757293168361, 0, "kPa"},
{"ksi", "kilopound per square inch", "kilopounds per square inch", "ksi", 'P', 6894757.293168361, 0, "MPa"},
{"inHg", "inch of mercury", "inches of mercury", "inHg", 'P', 3386.388640341, 0, "kPa"},
{"mmHg|torr|Torr", "millimetre of mercury", "millimetres of mercury", "mmHg", 'P', 133.322387415, 0, "kPa"},
{"mpgus|mpgUS|mpg", "mile per US gallon", "miles per US gallon", "mpg-US", 'E', MILE / GALLON, 0, "km/l"},
{"mpgimp", "mile per imperial gallon", "miles per imperial gallon", "mpg-imp", 'E', MILE / IMPERIAL, 0, "km/l"},
{"km/l|km/L", "kilometre per litre", "kilometres per litre", "km/L", 'E', 1e6, 0, "mpgus"},
{"kg/m3", "kilogram per cubic metre", "kilograms per cubic metre", "kg/m3", 'D', 1, 0, "lb/cuft"},
{"g/cm3|g/cc", "gram per cubic centimetre", "grams per cubic centimetre", "g/cm3", 'D', 1000, 0, "lb/cuin"},
{"lb/cuft", "pound per cubic foot", "pounds per cubic foot", "lb/cu ft", 'D', 16.01846337396, 0, "kg/m3"},
{"lb/cuin", "pound per cubic inch", "pounds per cubic inch", "lb/cu in", 'D', 27679.904710191, 0, "g/cm3"},
{"m/s2", "metre per second squared", "metres per second squared", "m/s2", 'A', 1, 0, "ft/s2"},
{"ft/s2", "foot per second squared", "feet per second squared", "ft/s2", 'A', 0.3048, 0, "m/s2"},
{"g0", "standard gravity", "standard gravities", "g", 'A', 9.80665, 0, "m/s2"},
{"kg/ha", "kilogram per hectare", "kilograms per hectare", "kg/ha", 'Y', 1e-4, 0, "lb/acre"},
{"lb/acre", "pound per acre", "pounds per acre", "lb/acre", 'Y', POUND / 4046.8564224, 0, "kg/ha"},
};
/* clang-format on */

static int has_code(const struct wiki_unit *u, const char *code, size_t n)
{
    for (const char *at = u->codes; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, code, n) == 0 && (at[n] == '|' || at[n] == '\0'))
            return 1;
    }
    return 0;
}

const struct wiki_unit *wiki_unit_find(const char *code, size_t n, double *factor)
{
    *factor = 1;
    if (n > 2 && code[0] == 'e' && (code[1] == '3' || code[1] == '6' || code[1] == '9')) {
        *factor = code[1] == '3' ? 1e3 : code[1] == '6' ? 1e6 : 1e9;
        code += 2;
        n -= 2;
    }
    for (size_t i = 0; n > 0 && i < sizeof units / sizeof units[0]; i++)
        if (has_code(&units[i], code, n))
            return &units[i];
    return NULL;
}
