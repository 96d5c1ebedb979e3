# awk [-v LEAST=-1.2] -f people.awk -f choose.awk STORIES RS='\n' ANSWERS >CHOSEN
#
# Of a model's own stories, answers of `prattle --jsonl`, those that are whole, in words of the
# stories, do not go round in circles, bring in nobody unannounced, and were not unlikely (LEAST:
# the least mean log-probability of their tokens).

# A string of the JSON object, from its first character on to the quotation mark that ends it.
function json_string(object, key,   out, c)
{
    if (!match(object, "\"" key "\":\""))
        return ""
    object = substr(object, RSTART + RLENGTH)
    while (match(object, /["\\]/)) {
        out = out substr(object, 1, RSTART - 1)
        if (substr(object, RSTART, 1) == "\"")
            return out
        c = substr(object, RSTART + 1, 1)
        out = out (c == "n" ? "\n" : c == "u" ? "?" : c)
        object = substr(object, RSTART + 2)
    }
    return out
}

function mean_logprob(object,   list, n, i, sum)
{
    if (!match(object, /"logprobs":\[[^]]*\]/))
        return -99
    n = split(substr(object, RSTART + 12, RLENGTH - 13), list, ",")
    for (i = 1; i <= n; i++)
        sum += list[i]
    return n ? sum / n : -99
}

function no(why)
{
    refused[why]++
    return 0
}

# From a beginning to an end, with every speech closed.
function is_whole(text,   n, i, paragraph)
{
    if (length(text) < 250 || length(text) > 950 || text !~ /[.!?]"?\n*$/)
        return no("length")
    n = split(text, paragraph, "\n")
    for (i = 1; i <= n; i++)
        if (gsub(/"/, "\"", paragraph[i]) % 2)
            return no("quotation marks")
    for (i = 2; i <= pieces; i += 2)
        if (count[tolower(piece[i])] < 8)
            return no("words")
    return 1
}

# Not one of the words that stand everywhere.
function is_content(word)
{
    return length(word) > 2 && count[word] < 9000 && !(word in small)
}

# "the hole in the hole", a sentence twice, three times the same four words, one word all over.
function goes_round(text,   n, i, k, sentence, seen, times, word, four, words)
{
    n = split(text, sentence, /[.!?]["]?[ \n]+/)
    for (i = 1; i <= n; i++) {
        if (length(sentence[i]) > 12 && sentence[i] in seen)
            return 1
        seen[sentence[i]]
    }
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        words++
        if (i > 6) {
            four = tolower(piece[i - 6]) " " tolower(piece[i - 4]) " " tolower(piece[i - 2]) " " word
            if (++times[four] > 2)
                return 1
        }
        if (!is_content(word))
            continue
        if (++times[word] > 4 + length(text) / 100)
            return 1
        for (k = 2; k <= 10 && i - k > 1 && piece[i - k + 1] !~ /[.!?\n]/; k += 2)
            if (tolower(piece[i - k]) == word && !(k == 4 && piece[i - 2] == "and" && word ~ /ed$|an$|ept$/))
                return 1
    }
    return 0
}

# Whether somebody may be met at i: where a text begins, or with a word that brings him in.
function brings_in(i)
{
    return piece[i - 2] ~ /^(named|called|friend|brother|sister|and|is|with|am)$/
}

function knows_its_people(text,   i, word, n, paragraph, have, met, narrator, n_mine, is_mine)
{
    is_mine = match(text, /^My name is [A-Z][a-z]+/)
    if (is_mine)
        narrator = substr(text, 12, RLENGTH - 11)
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        paragraph += piece[i - 1] ~ /\n/
        if (word in person)
            have[person[word]]
        if (word in animal)
            have["he"] = have["she"]
        if (piece[i] in kind_of) {
            if (!(piece[i] in met) && (++n > 2 || paragraph && (spoken[i] || !brings_in(i))))
                return no("new people")
            if (is_mine && !spoken[i] && piece[i] == narrator && i > 8)
                return no("the narrator")
            met[piece[i]]
            have[kind_of[piece[i]]]
        }
        if (spoken[i])
            continue
        if (word ~ /^(he|him|his|himself)$/ && !("he" in have) ||
            word ~ /^(she|her|herself)$/ && !("she" in have))
            return no("he and she")
        if (word ~ /^(i|me|my)$/ && i > 2) {
            if (!is_mine)
                return no("I")
            n_mine++
        }
    }
    return !is_mine || n_mine > 3 ? 1 : no("I")
}

BEGIN {
    n = split("cat dog bird bear bunny fish frog mouse lion monkey rabbit duck animal fox owl bug " \
              "child friend baby farmer teacher doctor robot policeman dragon witch wizard squirrel " \
              "puppy kitten pig cow horse elephant turtle butterfly bee ant spider kid kitty fairy " \
              "snake wolf tiger moon star sun tree train car truck toy doll", list, " ")
    for (i = 1; i <= n; i++)
        animal[list[i]]
    n = split("the and was had his her she him not but they you said for with very that this all " \
              "big one day could would did it's i'm yes too can little will there their them then " \
              "from were what who play played your like are", list, " ")
    for (i = 1; i <= n; i++)
        small[list[i]]
    if (LEAST == "")
        LEAST = -1.2
}

NR == FNR {
    n = split($0, word, /[^A-Za-z]+/)
    for (i = 1; i <= n; i++)
        count[tolower(word[i])]++
    next
}

{
    text = json_string($0, "prompt") json_string($0, "text")
    cut(text)
    find_spoken()
    if (/"finish_reason":"length"/)
        no("no end")
    else if (is_whole(text) && (!goes_round(text) || no("circles")) && knows_its_people(text) &&
             (mean_logprob($0) >= LEAST || no("unlikely"))) {
        n_chosen++
        sub(/\n*$/, "", text)
        printf "%s\n<|endoftext|>\n", text
    }
}

END {
    printf "%d of %d chosen", n_chosen, FNR >"/dev/stderr"
    for (why in refused)
        printf "; %s %d", why, refused[why] >"/dev/stderr"
    print "" >"/dev/stderr"
}
