# awk [-v SEED=n] -f people.awk -f exchange.awk TOLD >EXCHANGED
#
# The same stories of other beings, things, places and colours: a fox for a cat, a robot for a king, green for
# red, the same throughout a story, so that the model learns to go on with what an opening is about.

# kind: the words that may stand for each other; apart: what a story must not say for that.
function kind_is(kind, words, apart,   n, i, list)
{
    kinds[++n_kinds] = kind
    n = split(words, list, " ")
    size[kind] = n
    for (i = 1; i <= n; i++) {
        member[kind, i] = list[i]
        of_kind[kind, list[i]]
    }
    unless[kind] = apart
}

function count_words(   i, w)
{
    split("", said)
    for (i = 2; i <= pieces; i += 2)
        said[tolower(piece[i])]++
}

# Every `from` and its plural by `to`, with the article before it.
function put(from, to,   i, w, plural)
{
    for (i = 2; i <= pieces; i += 2) {
        w = tolower(piece[i])
        plural = w == from "s"
        if (w != from && !plural)
            continue
        piece[i] = as(to (plural ? "s" : ""), piece[i])
        if (i > 2 && piece[i - 1] == " " && tolower(piece[i - 2]) ~ /^an?$/)
            piece[i - 2] = as(to ~ /^[aeiou]/ ? "an" : "a", piece[i - 2])
    }
}

function is_told(word)
{
    return word in said || (word "s") in said
}

# Another of the kind for the one told of most often, at least `least` times.
function exchange(kind, least,   i, n, w, most, from, to, tries)
{
    for (i = 1; i <= size[kind]; i++) {
        w = member[kind, i]
        n = (w in said ? said[w] : 0)
        if (n >= least && n > most) {
            most = n
            from = w
        }
    }
    if (from == "" || is_part_of_a_name(from))
        return
    do {
        to = member[kind, 1 + below(size[kind])]
    } while (is_told(to) && ++tries < 20)
    if (!is_told(to)) {
        put(from, to)
        count_words()
    }
}

# "toy car", "fire truck", "Mr. Fox", "Bunny" as a name, "bird house".
function is_part_of_a_name(word,   i)
{
    for (i = 2; i <= pieces; i += 2)
        if (tolower(piece[i]) == word &&
            (tolower(piece[i - 2]) ~ /^(toy|fire|race|police|teddy|mr|mrs|named|called|ice|tree|dog|bird|doll|sand)$/ ||
             i > 2 && piece[i] ~ /^[A-Z]/ && piece[i - 1] !~ /[.!?"\n]/ || piece[i + 1] == "-" ||
             piece[i + 1] == " " && tolower(piece[i + 2]) ~ /^(house|tree|bell|box|man|cream|nest)$/))
            return 1
    return 0
}

BEGIN {
    state = SEED ? SEED : 4711
    kind_is("beast",
            "cat dog bear bunny fox mouse lion monkey rabbit frog pig cow horse elephant turtle squirrel " \
            "goat sheep wolf tiger puppy kitten robot dragon lizard hippo panda giraffe zebra snail deer " \
            "lamb donkey crab duck giant dwarf",
            "bark|meow|nest|wing|fly|flew|swim|swam|fin |tail|paw|fur|trunk|shell|web|honey|egg|hop|" \
            "chirp|roar|quack|moo|oink|banana|bone|purr|mane|strip|howl|spot|leash|pet|cheese|carrot|" \
            "growl|squeak|milk|ride|rode")
    kind_is("flyer",
            "bird owl crow parrot butterfly bee eagle dragonfly fairy pigeon",
            "egg|honey|chirp|hoot|pollen|flower|wise|sting|beak|sing|sang|song|feather")
    kind_is("vehicle",
            "car truck train bus van tractor",
            "track|rail|sail|water|siren|fly|flew|toy|fire|station|passenger|race|farm|road")
    kind_is("find",
            "hat coin stone shell book cup spoon crown necklace flute lamp mirror bag drum pen umbrella " \
            "candle basket brush jar vase map feather whistle button",
            "wear|wore|head|read|rang|bake|eat|ate|open|inside|drink|drank|lock|blow|blew|cook|page|" \
            "music|hand|beat|sound|time to|light|write|draw|paint|rain|hair|king|queen|magic|tick|finger|" \
            "full|kick|loud|door")
    kind_is("place",
            "park garden yard playground field forest zoo farm beach meadow",
            "animal|sand|water|swim|flower|tree|cow|wood|sea|lion|slide|swing|wave|plant|vegetable")
    kind_is("green",
            "park playground garden yard",
            "animal|flower|plant|slide|swing|forest|vegetable")
    kind_is("fruit",
            "apple orange pear peach plum lemon tomato banana melon",
            "tree|peel|sour|juice|monkey|seed|red|yellow|round|pie")
    kind_is("dish",
            "cake pie soup bread pizza sandwich salad stew pasta pudding",
            "bake|oven|drink|bowl|slice|candle|birthday|spoon|flour|knife|cheese|sweet|dough|cream|" \
            "vegetable|plate")
    kind_is("he",
            "king prince man farmer teacher doctor cook baker sailor clown soldier knight wizard " \
            "policeman pilot barber painter fisherman postman",
            "she |her |crown|castle|kingdom|magic|spell|patient|school|hospital|circus|class|student|" \
            "sick|farm|wand|bald|throne|sword|horse|fish|boat|sea|crop|queen|princess|medicine")
    kind_is("she",
            "queen princess woman teacher doctor cook baker nurse witch lady fairy singer dancer painter",
            "he |his |crown|castle|kingdom|magic|spell|patient|school|hospital|circus|class|student|sick|" \
            "farm|wand|throne|king|prince|wing|fly|flew|medicine|dress|sing|sang|dance")
    kind_is("house",
            "house castle tower cottage cave tent barn hut mill lighthouse",
            "king|queen|door|window|room|paint|build|built|brick|roof|kitchen|tree|bed|dark|knock|" \
            "his house|her house|their house|sand|fire|doll")
    kind_is("colour",
            "red blue green yellow orange purple pink brown",
            "rainbow|mix|paint|crayon|sky|grass|light|lemon|fire|leaf|leaves|apple|orange|banana|color|" \
            "tomato|rose|sun|pencil|fruit")
}

{
    cut($0)
    count_words()
    text = " " tolower($0)
    gsub(/[^a-z]+/, " ", text)
    for (k = 1; k <= n_kinds; k++)
        if (text !~ (" (" unless[kinds[k]] ")") && below(10) < 8)
            exchange(kinds[k], kinds[k] ~ /^(place|green|colour|house)$/ ? 1 : 2)
    if (text !~ /grandpa|grandma|aunt|uncle/ && below(12) == 0) {
        put("dad", "grandpa")
        put("daddy", "grandpa")
        put("mom", below(2) ? "grandma" : "aunt")
    }
    for (i = 1; i <= pieces; i++)
        printf "%s", piece[i]
    printf "<|endoftext|>\n"
}
