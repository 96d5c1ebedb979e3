# awk -f people.awk -f retell.awk STORIES STORIES >RETOLD     (read twice: to count, to tell)
#
# The same stories told TIMES times, the first time as they are and then
# - with other names, boys' for boys' and girls' for girls', so that who is who has to be read;
# - every other time with she for he, him for her, mom for dad;
# - one in four from a later paragraph on, which begins as no story does;
# - and where nobody else can be meant, each time also by the one it is about: "My name is Lily."

function joined(   i, text)
{
    for (i = 1; i <= pieces; i++)
        text = text piece[i]
    return text
}

# For "her": him before a word that follows him more often than his in all the stories.
function him_or_his(i,   after)
{
    if (i + 2 > pieces || piece[i + 1] != " ")
        return "him"
    after = tolower(piece[i + 2])
    return after_him[after] > after_his[after] ? "him" : "his"
}

function rename(swapped,   i, name, kind, other, given, taken)
{
    for (i = 2; i <= pieces; i += 2)
        if (piece[i] in kind_of)
            taken[piece[i]] = 1
    for (i = 2; i <= pieces; i += 2) {
        name = piece[i]
        if (!(name in kind_of))
            continue
        if (!(name in given)) {
            kind = kind_of[name]
            if (swapped)
                kind = kind == "he" ? "she" : "he"
            do
                other = names[kind, 1 + below(n_names[kind])]
            while (other in taken)
            taken[other] = 1
            given[name] = other
        }
        piece[i] = given[name]
    }
}

function exchange(   i, word, told)
{
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        told[i] = piece[i]
        if (piece[i] ~ /^[A-Z][A-Z]/)
            continue
        if (word == "her")
            told[i] = as(him_or_his(i), piece[i])
        else if (word in opposite)
            told[i] = as(opposite[word], piece[i])
    }
    for (i = 2; i <= pieces; i += 2)
        piece[i] = told[i]
}

function tell(text,   swapped)
{
    swapped = below(2)
    cut(text)
    rename(swapped)
    if (swapped)
        exchange()
    printf "%s<|endoftext|>\n", joined()
}

# From a paragraph in the middle, if the one drawn stands without those before it.
function later(text,   n, from, paragraph, i, rest)
{
    n = split(text, paragraph, "\n")
    if (n < 4)
        return text
    from = 2 + below(n - 3)
    if (paragraph[from] ~ /^(He|She|It|They|His|Her|Their|But|Then|So|And|"|Suddenly|After|When|As|Finally|From)/)
        return text
    for (i = from; i <= n; i++)
        rest = rest paragraph[i] (i < n ? "\n" : "")
    return rest
}

# "he" or "she", where only one of them is told of; else nothing.
function only_kind(   i, word, n)
{
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        if (!spoken[i] && (word == "he" || word == "she"))
            n[word]++
    }
    if ((n["he"] > 0) == (n["she"] > 0))
        return ""
    return n["he"] > 0 ? "he" : "she"
}

# Nobody but `name` can be meant by he (or she), and no verb would have to change for I.
function stands_alone(name, kind,   i, word)
{
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        if (spoken[i])
            continue
        if (word in person && person[word] == kind)
            return 0
        if (piece[i] in kind_of && piece[i] != name && kind_of[piece[i]] == kind)
            return 0
        if (word ~ /^(is|are|has|my|does|the[a-z]+selves|both)$/ || word == "i" && i > 2)
            return 0
        if (piece[i] == name && (piece[i + 1] == " " && piece[i + 2] == "and" ||
                                 piece[i - 2] == "and" && piece[i - 1] == " "))
            return 0
    }
    return 1
}

# The name at i: I, me after words that him follows more often than he, my for Tim's.
function own(i,   before, is_object)
{
    if (piece[i + 1] == "'" && piece[i + 2] == "s") {
        dropped[i + 1]
        dropped[i + 2]
        return i == 2 || piece[i - 1] ~ /[.!?\n]/ ? "My" : "my"
    }
    before = tolower(piece[i - 2])
    is_object = i > 2 && piece[i - 1] == " " && before_him[before] > before_he[before]
    return is_object && piece[i - 3] !~ /"/ ? "me" : "I" # not in: "...," asked Tim
}

function say_i(name, kind,   i, word, told)
{
    split("", dropped)
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        told[i] = piece[i]
        if (spoken[i])
            continue
        if (word == "he" || word == "she")
            told[i] = "I"
        else if (kind == "he" && word == "his")
            told[i] = as("my", piece[i])
        else if (kind == "he" && word == "him")
            told[i] = "me"
        else if (kind == "she" && word == "her")
            told[i] = as(him_or_his(i) == "him" ? "me" : "my", piece[i])
        else if (word == "himself" || word == "herself")
            told[i] = "myself"
        else if (word == "they")
            told[i] = as("we", piece[i])
        else if (word == "their")
            told[i] = as("our", piece[i])
        else if (piece[i] == name)
            told[i] = own(i)
    }
    for (i = 2; i <= pieces; i += 2)
        piece[i] = told[i]
    for (i in dropped)
        piece[i] = ""
}

# "Once upon a time, there was a little boy named Tim. He ..." as "My name is Tim. I am a little
# boy. I ..."; nothing where it cannot be told so.
function first_person(text,   opening, name, who, kind)
{
    if (!match(text, /^(Once upon a time|One day|Once)[^.!?"\n]* (a|an) [^.!?"\n]* named [A-Z][a-z]+( (who|that) |\. )/))
        return ""
    opening = substr(text, 1, RLENGTH)
    text = (opening ~ /\. $/ ? "" : "I ") substr(text, RLENGTH + 1)
    who = name = opening
    sub(/.* named /, "", name)
    sub(/[^A-Za-z].*/, "", name)
    sub(/ named .*/, "", who)
    if (!match(who, /(was|lived|day,|time,|Once,?) an? [a-z, ]+$/))
        return ""
    who = substr(who, RSTART)
    who = substr(who, index(who, " "))
    if (who ~ / (and|of|with|in|saw|was|who) / || who ~ / an? .* an? /)
        return ""
    cut(text)
    find_spoken()
    kind = only_kind()
    if (kind == "" || (name in kind_of ? kind_of[name] != kind : who ~ /boy|girl|man|woman/))
        return ""
    if (!stands_alone(name, kind))
        return ""
    say_i(name, kind)
    return "My name is " name ". I am" who ". " joined()
}

function read_pairs(text,   list, n, i)
{
    n = split(text, list, " ")
    for (i = 1; i < n; i += 2) {
        opposite[list[i]] = list[i + 1]
        if (!(list[i + 1] in opposite))
            opposite[list[i + 1]] = list[i]
    }
}

BEGIN {
    if (!TIMES)
        TIMES = 12
    state = 20001
    read_pairs("he she him her his her himself herself boy girl boys girls man woman men women " \
               "mom dad mommy daddy mum dad mummy daddy mama papa mother father grandma grandpa " \
               "grandmother grandfather brother sister brothers sisters king queen prince princess " \
               "uncle aunt son daughter mr mrs lady gentleman ladies gentlemen granny grandad")
    opposite["hers"] = "his"
}

NR == FNR {
    n = split(tolower($0), word, /[^a-z]+/)
    for (i = 1; i < n; i++) {
        if (word[i] == "him")
            after_him[word[i + 1]]++
        if (word[i] == "his")
            after_his[word[i + 1]]++
        if (word[i + 1] == "him")
            before_him[word[i]]++
        if (word[i + 1] == "he")
            before_he[word[i]]++
    }
    next
}
/[a-z]/ { story[++n_stories] = $0 }

# Every story once before any of them again: side by side, tellings would be copied, not learned.
END {
    for (i = 1; i <= n_stories; i++) {
        mine[i] = first_person(story[i])
        n_mine += mine[i] != ""
    }
    for (telling = 1; telling <= TIMES; telling++) {
        for (i = 1; i <= n_stories; i++)
            if (telling == 1)
                printf "%s<|endoftext|>\n", story[i]
            else
                tell(below(4) ? story[i] : later(story[i]))
        for (i = 1; i <= n_stories; i++) {
            text = mine[i]
            if (text == "")
                continue
            if (below(2))
                sub(/\. I am an? [^.]*\./, ".", text)
            tell(text)
        }
    }
    printf "%d stories, %d of them also by whom they are about, %d times\n",
           n_stories, n_mine, TIMES >"/dev/stderr"
}
