# awk [-v SEED=n] [-v TIMES=6] [-v MOST=30] [-v ODD=1] -f people.awk -f prompts.awk STORIES >PROMPTS.jsonl
#
# Beginnings to tell stories from, each TIMES times, JSON lines: of the stories, by a few of their words; of
# sentences from their middle, with which no story began; made up of common words; "My name is" and
# "One day, a boy named". One that comes often is asked MOST times TIMES at most, "My name is" thrice that.
# ODD: only from the middle and made up.

function first_words(text, n,   word, i, m, out)
{
    m = split(text, word, " ")
    for (i = 1; i <= n && i <= m; i++)
        out = out (i > 1 ? " " : "") word[i]
    return out
}

function from_the_middle(text,   sentence, n, i)
{
    n = split(text, sentence, /[.!?] /)
    for (i = 2 + below(n); i <= n; i++)
        if ((sentence[i] ~ /^(The|A|An|In|On|At|It|There|When|Every|All|Some|Many) / ||
             sentence[i] ~ /^[A-Z][a-z]+ (saw|went|was|liked|loved|wanted|had|found|lived) /) &&
            sentence[i] !~ /^(He|She|They|It|I|We|But|So|Then) / && sentence[i] !~ /["\n]/)
            return first_words(sentence[i], 2 + below(4))
    return ""
}

function a(word)
{
    return (word ~ /^[aeiou]/ ? "an " : "a ") word
}

function made_up(   adjective, being, thing, name, he, kind)
{
    adjective = one_of("old small big little red blue green yellow brown white black tiny tall quiet " \
                       "lazy kind brave clever sad happy hungry busy funny fat young wise gentle shy " \
                       "loud strong", " ")
    being = one_of("cat dog bird bear bunny fish frog mouse lion monkey rabbit duck fox owl bug " \
                   "farmer teacher doctor robot dragon witch wizard squirrel puppy kitten pig cow " \
                   "horse elephant turtle butterfly bee ant snake wolf king queen princess baby cook " \
                   "sailor giant goat sheep hen fairy", " ")
    thing = one_of("house tree boat car truck train bridge garden box hat bike kite ball book lamp " \
                   "clock door river shop castle bus cake star moon sun cloud flower rock chair bed " \
                   "cup spoon bell drum key ship tower barn hill road park kitchen sandwich soup " \
                   "apple pie cookie toy doll dress coat shoe sock blanket window ladder wheel swing " \
                   "nest mountain pond", " ")
    kind = below(2) ? "he" : "she"
    name = names[kind, 1 + below(n_names[kind])]
    he = kind == "he" ? "his" : "her"
    kind = below(36)
    if (kind == 0) return "The " adjective " " thing
    if (kind == 1) return (adjective ~ /^[aeiou]/ ? "An " : "A ") adjective " " being " lived"
    if (kind == 2) return "The " being " had " a(thing)
    if (kind == 3) return "The " adjective " " being " was"
    if (kind == 4)
        return name " wanted to " \
            one_of("make find see draw bake build catch paint wash sell buy fix hide ride cook", " ") " " a(thing)
    if (kind == 5) return "On " he " way home, " name
    if (kind == 6)
        return one_of("Mom Dad Grandma Mommy Daddy Grandpa", " ") " " one_of("gave bought made showed", " ") " " name
    if (kind == 7) return "It was " one_of("cold hot dark sunny windy late early night snowy", " ") " and"
    if (kind == 8) return "The " thing " was " one_of("old broken empty red open lost big new dirty full", " ")
    if (kind == 9) return "I am " a(adjective) " " being one_of("|.| and| and I|, and my name is", "|")
    if (kind == 10) return one_of("Hello! Hi!", " ") " I am " name
    if (kind == 11) return one_of("Hello! Hi! Hello, Hi,", " ") " my name is " name "."
    if (kind == 12) return "My name is " name " and I"
    if (kind == 13) return "My name is " name "."
    if (kind == 14)
        return "In the " one_of("morning garden forest park house kitchen sea sky barn village town river " \
                                "evening winter summer", " ") ","
    if (kind == 15) return name " and " he " " one_of("mom dad dog cat brother sister friend grandma", " ")
    if (kind == 16) return name " had " a(adjective) " " thing
    if (kind == 17) return "There was " a(adjective) " " being
    if (kind == 18) return "The " being " and the " one_of("cat dog bird bear fish frog mouse rabbit", " ")
    if (kind == 19) return "Two " one_of("friends birds boys girls cats dogs brothers sisters", " ")
    if (kind == 20)
        return one_of("Mom|Dad|Grandma|Grandpa|The teacher|The " being, "|") " told " \
            one_of(name "|the kids|the class|a story|the " being "|everyone", "|")
    if (kind == 21)
        return "It " one_of("rained|snowed|was raining|was snowing", "|") " " \
            one_of("all night|in the morning|on the farm|outside|a lot", "|") one_of(" and|, so|. " name, "|")
    if (kind == 22) return one_of("Every|Each|One", "|") " " one_of("morning day night evening Sunday", " ") ", the " being
    if (kind == 23)
        return "The " thing " " one_of("would not open|did not work|was stuck|made a noise|fell down|was gone", "|")
    if (kind == 24) return name " " one_of("made lost found broke drew built saw bought had", " ") " " a(thing)
    if (kind == 25) return one_of("Behind Under Near In", " ") " the " adjective " " thing
    if (kind == 26)
        return "At the " one_of("zoo beach farm school market pond park store fair library", " ") \
            one_of(",| there was| lived|, " name, "|")
    if (kind == 27) return "The " being " " one_of("saw found lost wanted liked was needed", " ") " " a(thing)
    if (kind == 28)
        return name " " one_of("woke up|could not sleep|was hungry|felt sad|was cold|was late|went home", "|") " and"
    if (kind == 29) return "For " he " birthday, " name
    if (kind == 30)
        return one_of("There once was|Once there was|Long ago there was|Once upon a time there lived", "|") " " a(being)
    if (kind == 31)
        return one_of("Deep in|High in|Far away in|In the middle of", "|") " the " \
            one_of("forest sea sky woods mountains town jungle", " ") " lived " a(being)
    if (kind == 32)
        return one_of("A princess|A prince|A farmer|A family|An old man|A girl|A boy|A knight", "|") " lived in a " \
            one_of("tall castle|small house|big city|village|cottage|little town", "|")
    if (kind == 33) return "I have a " one_of("friend dog cat brother sister doll robot bird", " ") " " one_of("who named called and", " ")
    if (kind == 34) return "One day " one_of("my|the|a|his|her", "|") " " being
    if (kind == 35) return "A " being " and " a(being == "cat" ? "mouse" : "cat") " were friends"
}

BEGIN {
    state = SEED ? SEED : 30003
    if (TIMES == "")
        TIMES = 6
    if (MOST == "")
        MOST = 30
}

{
    kind = ODD ? 5 + below(5) : below(10)
    if (kind < 3)
        prompt = first_words($0, 4 + below(8))
    else if (kind == 3)
        prompt = one_of("My name is|My name is|My name is|Hello! My name is|My name is|" \
                        "Once upon a time|Once upon a time, there was", "|")
    else if (kind == 4)
        prompt = "One day, a " (below(2) ? "boy" : "girl") " named"
    else if (kind < 7)
        prompt = from_the_middle($0)
    else
        prompt = made_up()
    if (prompt == "" || prompt ~ /["\n?]/ || asked[prompt]++ >= (prompt ~ /name is$/ ? 3 * MOST : MOST))
        next
    for (i = 0; i < TIMES; i++)
        printf "{\"prompt\":\"%s\"}\n", prompt
}
