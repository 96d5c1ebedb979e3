# awk [-v NEW=38] [-v PART=6] [-v LIKE=12] -f people.awk -f choose.awk STORIES RS='\n' ANSWERS >CHOSEN
#
# Of a model's own stories, answers of `prattle --jsonl` to many beginnings, the sound ones. They are
# whole and short (LEAST to MOST characters), told in turns that real stories have (of their runs of
# five words at most NEW are in none), go on with what their beginning is about, and have none of
# the faults looked for below. Of the answers to each beginning the best PARTth part; of those, no run of
# five words much more than LIKE times, no word much oftener than real stories have it.

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

function no(why)
{
    refused[why]++
    return 0
}

# Not one of the words that stand everywhere.
function is_content(word)
{
    return length(word) > 2 && count[word] < 9000 && !(word in small)
}

function singular(word)
{
    if (length(word) > 3 && word !~ /(ss|us|is)$/)
        sub(/s$/, "", word)
    return word
}

# ---- what real stories say ----

# run[1..runs]: each five words in a row, all names being one, a sentence's first word marked. The
# k-th ends with the piece at 2 * k + 8.
function find_runs(   i, w, a, b, c, d)
{
    runs = 0
    for (i = 2; i <= pieces; i += 2) {
        w = (piece[i - 1] ~ /[.!?]/ ? "." : "") (piece[i] in kind_of ? "N" : tolower(piece[i]))
        if (i >= 10)
            run[++runs] = a " " b " " c " " d " " w
        a = b; b = c; c = d; d = w
    }
}

function learn_runs(   k)
{
    find_runs()
    for (k = 1; k <= runs; k++)
        known[run[k]]
}

# How many of those that end behind the first `from` pieces no story has.
function new_runs(from,   k, n)
{
    find_runs()
    for (k = 1; k <= runs; k++)
        n += 2 * k + 8 > from && !(run[k] in known)
    return n + 0
}

# Content words with at most one between them: learned, or whether all behind the first `from` pieces are known.
function neighbours(learning, from,   i, w, last, before)
{
    for (i = 2; i <= pieces; i += 2) {
        if (piece[i - 1] ~ /[.!?,"\n]/)
            last = before = ""
        w = singular(tolower(piece[i]))
        if (piece[i] in kind_of || w in small || length(w) < 3)
            continue
        if (learning) {
            if (last != "")
                near[last, w] = near[w, last]
            if (before != "")
                near[before, w] = near[w, before]
        } else if (i > from && last != "" && w != last && !((last, w) in near)) {
            return 0
        }
        before = last
        last = w
    }
    return 1
}

# The article or the like before what stands at i, if that ends the phrase.
function article(i,   k)
{
    if (piece[i + 1] == " " && !(tolower(piece[i + 2]) in follows))
        return ""
    for (k = i - 2; k >= 2 && k >= i - 6 && piece[k + 1] == " "; k -= 2) {
        if (tolower(piece[k]) in determiner)
            return tolower(piece[k])
        if (tolower(piece[k]) in follows)
            return ""
    }
    return ""
}

# Words as they are first met: how often behind "the".
function first_met(learning, from,   i, w, met)
{
    for (i = 2; i <= pieces; i += 2) {
        w = singular(tolower(piece[i]))
        if (w in met)
            continue
        met[w]
        if (learning) {
            first[w]++
            first_the[w] += article(i) == "the"
        } else if (i > from && first[w] >= 8 && first_the[w] < 0.3 * first[w] && article(i) == "the")
            return 0
    }
    return 1
}

function learn(story,   i, w, here)
{
    cut(story)
    n_stories++
    for (i = 2; i <= pieces; i += 2) {
        w = singular(tolower(piece[i]))
        if (!(w in here)) {
            here[w]
            stories_with[w]++
        }
    }
    learn_runs()
    neighbours(1)
    first_met(1)
}

# ---- the form ----

# From a beginning to an end, with every speech closed.
function is_whole(text,   n, i, paragraph)
{
    if (length(text) < LEAST || length(text) > MOST || text !~ /[.!?]"?\n*$/)
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

function is_past(word)
{
    return word ~ /[a-z][a-z]ed$/ && word !~ /^(need|feed|speed|shed|bed|red)$/ || word in past
}

# "to climbed", "a balls", "she were", "the the".
function is_english(   i, w, before)
{
    for (i = 4; i <= pieces; i += 2) {
        w = tolower(piece[i])
        before = tolower(piece[i - 2])
        if (piece[i - 1] != " ")
            continue
        if (before ~ /^(to|can|could|will|would|did)$/ && is_past(w) ||
            before ~ /^an?$/ && w ~ /[a-rt-z]s$/ && w !~ /(us|is)$/ && count[substr(w, 1, length(w) - 1)] > 5 ||
            before == "a" && w ~ /^[aeio]/ && w != "one" || before == "an" && w ~ /^[^aeiouh]/ ||
            before ~ /^(he|she|it)$/ && w ~ /^(are|were|am|have)$/ ||
            before ~ /^(they|we)$/ && w ~ /^(is|was|am|has)$/ || before == "i" && w ~ /^(is|are|were|has)$/ ||
            before ~ /^(to|of|with|for|at|said|asked|replied)$/ && w == "i" ||
            i > 6 && piece[i - 3] == " " && before ~ /^(i|you|we|he|she|it|they)$/ &&
                tolower(piece[i - 4]) ~ /^(can|could|will|did)$/ && is_past(w) ||
            before == w && w !~ /^(up|very|walked|ran|so|on|looked|really|no|round|jumped|tried|knock)$/)
            return no("grammar")
    }
    return 1
}

# "the hole in the hole", a sentence twice, three times the same four words, one word all over.
function goes_round(text,   n, i, k, sentence, seen, times, word, four)
{
    n = split(text, sentence, /[.!?]["]?[ \n]*/)
    for (i = 1; i <= n; i++) {
        if (length(sentence[i]) > 12 && sentence[i] in seen)
            return 1
        seen[sentence[i]]
    }
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        if (i > 6) {
            four = tolower(piece[i - 6]) " " tolower(piece[i - 4]) " " tolower(piece[i - 2]) " " word
            if (++times[four] > 2)
                return 1
        }
        if (!is_content(word))
            continue
        if (++times[word] > 4 + length(text) / 100)
            return 1
        for (k = 2; k <= 16 && i - k > 1 && piece[i - k + 1] !~ /[.!?"\n]/; k += 2)
            if (tolower(piece[i - k]) == word && !(k == 4 && piece[i - 2] == "and" && word ~ /ed$|an$|ept$/))
                return 1
    }
    return 0
}

# ---- the people ----

# Whether somebody may be met at i: where a text begins, or with a word that brings him in.
function brings_in(i)
{
    return piece[i - 2] ~ /^(named|called|friend|brother|sister|and|is|with|am)$/
}

function knows_its_people(text,   i, word, n, paragraph, have, met, narrator, n_mine, is_mine)
{
    is_mine = text ~ /^(H[a-z]+[!,]? )?([mM]y name is|I) /
    if (is_mine && match(text, /([mM]y name is|I am) [A-Z][a-z]+/)) {
        narrator = substr(text, RSTART, RLENGTH)
        sub(/.* /, "", narrator)
    }
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        paragraph += piece[i - 1] ~ /\n/ || piece[i - 1] ~ /[.!?]/ && i > 8
        if (word in person && !(is_mine && i < 22))
            have[person[word]]
        if (word in animal && !(is_mine && i < 22))
            have["he"] = have["she"]
        if (piece[i] in kind_of) {
            if (!(piece[i] in met) && (++n > 2 || paragraph && (spoken[i] || !brings_in(i))))
                return no("new people")
            if (is_mine && !spoken[i] && piece[i] == narrator && i > 10)
                return no("the narrator")
            met[piece[i]]
            if (piece[i] != narrator)
                have[kind_of[piece[i]]]
        }
        if (spoken[i])
            continue
        if (is_mine && word ~ /^(they|their)$/)
            return no("I and they")
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

# Girls who are boys; in a sentence nobody is named twice, and parents call their own child.
function names_agree(text,   n, i, k, m, sentence, word, name, who, seen)
{
    if (match(text, /My name is [A-Z][a-z]+\. I am a [a-z]* ?(boy|girl)/) ||
        match(text, /(girl|boy) named [A-Z][a-z]+/) || match(text, /[A-Z][a-z]+ was a [a-z]* ?(boy|girl)/)) {
        name = substr(text, RSTART, RLENGTH)
        n = split(name, word, /[ .]+/)
        for (i = 1; i <= n; i++)
            if (word[i] in kind_of && kind_of[word[i]] == (name ~ /boy/ ? "she" : "he"))
                return no("boys and girls")
    }
    gsub(/"[^"]*"/, "\"", text)
    n = split(text, sentence, /[.!?\n"]+/)
    for (i = 1; i <= n; i++) {
        m = split(sentence[i], word, /[^A-Za-z']+/)
        split("", seen)
        for (k = 1; k <= m; k++)
            if (word[k] in kind_of) {
                if (word[k] in seen)
                    return no("a name twice")
                seen[word[k]]
            }
        if (match(sentence[i], /[A-Za-z]+ asked .* if (he|she) could/)) { # for herself, is meant
            name = substr(sentence[i], RSTART, RLENGTH)
            who = name ~ / he could$/ ? "he" : "she"
            sub(/ .*/, "", name)
            if (name == "I" || name in kind_of && kind_of[name] != who)
                return no("who asked")
        }
        if (i > 1 && sentence[i] ~ /wanted to help (him|her)/) {
            sub(/^ +/, "", sentence[i])
            sub(/^ +/, "", sentence[i - 1])
            name = sentence[i]
            sub(/ .*/, "", name)
            if (index(sentence[i - 1], name " ") == 1)
                return no("helps himself")
        }
        if (match(sentence[i], /[A-Z][a-z]+'s (mom|dad|mommy|daddy|mother|father|grandma|grandpa) /)) {
            name = substr(sentence[i], RSTART)
            sub(/'.*/, "", name)
            if (name in kind_of &&
                match(sentence[i], /(called|told|gave|saw|hugged|helped|asked|took|let) (him|his|her) /) &&
                kind_of[name] == (substr(sentence[i], RSTART, RLENGTH) ~ /her/ ? "he" : "she"))
                return no("whose parents")
        }
    }
    return 1
}

# A beak, wings, paws where nobody is who has them.
function has_its_parts(text,   i, word, who)
{
    if (text ~ /[Mm]y (beak|paws?|tail|wings|fur)/)
        return 0
    for (i = 2; i <= pieces; i += 2) {
        word = tolower(piece[i])
        if (word in parts)
            who = who " " parts[word]
        if (word ~ /^(beak|wings?)$/ && who !~ /wing/ || word ~ /^(paws?|tail|barked|meowed)$/ && who !~ /paw/)
            return 0
    }
    return 1
}

# ---- the talk ----

# Who speaks part[i] of a text cut at its quotation marks, "" where that is not said.
function speaker(part, i)
{
    if (match(part[i - 1], /[^.!?\n]*(said|asked|replied|shouted|cried|answered|called|told)[^.!?\n]*, *$/))
        return first_of(substr(part[i - 1], RSTART))
    if (match(part[i + 1], /^ ?(said|asked|replied|shouted|cried) [^.,!?]*/))
        return first_of(substr(part[i + 1], RSTART, RLENGTH))
    return ""
}

function first_of(phrase,   n, i, word)
{
    n = split(phrase, word, /[^A-Za-z']+/)
    for (i = 1; i <= n; i++) {
        if (word[i] in kind_of || word[i] in animal || tolower(word[i]) in person)
            return word[i]
        if (tolower(word[i]) ~ /^(he|she|i|they)$/)
            return ""
    }
    return ""
}

# "She said, "Thank you, Sue"", where Sue is all there is.
function alone(text,   i, name)
{
    for (i = 2; i <= pieces; i += 2)
        if (piece[i] in kind_of) {
            if (name != "" && piece[i] != name)
                return ""
            name = piece[i]
        }
    return name
}

# Nobody answers himself, names himself, is thanked for what he was given, or turns from mom into dad.
function talks_well(text,   n, i, part, who, last, only, me)
{
    n = split(text, part, "\"")
    only = alone(text)
    me = match(text, /[Mm]y name is [A-Z][a-z]+/) ? substr(text, RSTART + 11, RLENGTH - 11) : ""
    for (i = 2; i <= n; i += 2) {
        who = speaker(part, i)
        if (only != "" && index(part[i], only) &&
                part[i - 1] ~ (kind_of[only] == "he" ? "(He|he) [^.]*, *$" : "(She|she) [^.]*, *$") ||
            me != "" && index(part[i], me) && part[i - 1] ~ /(^|[^A-Za-z])I [^.]*, *$/ ||
            who != "" && part[i + 1] ~ ("^ ?" who " (agreed|nodded|thanked)") ||
            who != "" && (who == last || who in kind_of && index(part[i], who)) ||
            part[i] ~ /[Tt]hank/ && part[i + 2] ~ /[Tt]hank/ && part[i + 2] !~ /too/ ||
            part[i] ~ /welcome/ && part[i - 2] !~ /[Tt]hank/ ||
            part[i - 1] ~ /(mom|mommy|dad|daddy)( [a-z]+)*( said| asked| and said),? *$/ &&
                part[i] ~ /(Mom|Dad|Mommy|Daddy)[.!?,]/ ||
            part[i] ~ /(Mom|Mommy)[,!.?]/ &&
                part[i + 1] ~ /^[^.\n]*(dad|daddy|father) (said|smiled|laughed|looked|nodded|hugged)/ ||
            part[i] ~ /(Dad|Daddy)[,!.?]/ &&
                part[i + 1] ~ /^[^.\n]*(mom|mommy|mother) (said|smiled|laughed|looked|nodded|hugged)/)
            return 0
        last = who
    }
    return 1
}

# Morals that a small model draws are the wrong ones.
function draws_a_moral(text)
{
    return text ~ /moral|learned|lesson|can happen/
}

# Who or what a beginning such as "The old king had" is about: the last word of its first phrase.
function subject_of(beginning,   n, i, word, last)
{
    if (beginning !~ /^(The|An?|There was( once)? an?|I am an?|Two) /)
        return ""
    sub(/^(The|An?|There was( once)? an?|I am an?|Two) /, "", beginning)
    n = split(beginning, word, /[^A-Za-z]+/)
    for (i = 1; i <= n && word[i] != ""; i++) {
        if (tolower(word[i]) in follows ||
            i > 1 && word[i] ~ /(ed|had|were|ran|told|found|got|took|came|like|likes|has)$/)
            break
        last = word[i]
    }
    return is_content(tolower(last)) ? singular(last) : ""
}

# A story goes on with what its beginning is about to its end, and in one colour; it does something,
# and is not a bird and a dog.
function keeps_to(beginning, told,   about, colour)
{
    if (beginning ~ /^The [a-z]+ [a-z]+$/ && told ~ /^,/ || (beginning told) ~ /^I am an? [a-z ]+ and an? /)
        return 0
    about = subject_of(beginning)
    if (about == "")
        return 1
    if (!index(substr(told, length(told) / 2), about))
        return 0
    colour = "(red|blue|green|yellow|orange|purple|pink|brown|white|black|gray) " about
    if (!match(beginning, colour))
        return 1
    gsub(substr(beginning, RSTART, RLENGTH), "", told)
    return told !~ colour
}

# What helps whom was heard of before, what a thing is it stays, and a new friend is somebody.
function makes_sense(text,   whom, i, n, met)
{
    for (i = 2; i <= pieces; i += 2)
        if ((piece[i] in kind_of || tolower(piece[i]) in parts) && !(piece[i] in met)) {
            met[piece[i]]
            n++
        }
    if (n < 2 && text ~ /new friend/)
        return 0
    if (text ~ /not an? [a-z ]*(anymore|at all)|turned into/)
        return 0
    if (match(text, /help(ed|ing)? (his|her|their|my|the) [a-z]+/)) {
        whom = substr(text, RSTART, RLENGTH)
        sub(/.* /, "", whom)
        if (index(substr(text, 1, RSTART), whom) == 0)
            return 0
    }
    return 1
}

function set_of(set, text,   n, i, list)
{
    n = split(text, list, " ")
    for (i = 1; i <= n; i++)
        set[list[i]]
}

function parts_of(kind, text,   n, i, list)
{
    n = split(text, list, " ")
    for (i = 1; i <= n; i++)
        parts[list[i]] = kind
}

BEGIN {
    set_of(animal, "cat dog bird bear bunny fish frog mouse lion monkey rabbit duck animal fox owl bug " \
                   "child friend baby farmer teacher doctor robot policeman dragon witch wizard squirrel " \
                   "puppy kitten pig cow horse elephant turtle butterfly bee ant spider kid kitty fairy " \
                   "snake wolf tiger moon star sun tree train car truck toy doll")
    set_of(small, "the and was had his her she him not but they you said for with very that this all " \
                  "big one day could would did it's i'm yes too can little will there their them then " \
                  "from were what who play played your like are")
    set_of(past, "was were had went saw ran ate took gave came found made got said caught threw fell flew " \
                 "knew thought felt kept")
    set_of(determiner, "the a an his her my your their our its this that some many one two three no " \
                       "every another")
    set_of(follows, "was is had in on with to that said for of at under and but so when because as who " \
                    "saw went started wanted did could would from were are by his her the it he she they " \
                    "up down")
    parts_of("wing", "bird owl duck parrot chicken hen eagle crow fairy butterfly bee dragon birds penguin")
    parts_of("paw", "dog cat puppy kitten bear bunny rabbit fox lion tiger mouse squirrel monkey wolf " \
                    "kitty doggy dogs cats animal cow horse pig elephant fish")
    if (LEAST == "")
        LEAST = 240
    if (MOST == "")
        MOST = 600
    if (NEW == "")
        NEW = 38
    if (LIKE == "")
        LIKE = 12
    if (PART == "")
        PART = 6
}

# The stories.
NR == FNR {
    n = split($0, list, /[^A-Za-z]+/)
    for (i = 1; i <= n; i++)
        count[tolower(list[i])]++
    story[NR] = $0
    next
}

# The answers.
FNR == 1 {
    for (i = 1; i < NR; i++)
        learn(story[i])
    split("", story)
}

{
    beginning = json_string($0, "prompt")
    text = beginning json_string($0, "text")
    if (!answers[beginning]++)
        order[++n_beginnings] = beginning
    cut(text)
    find_spoken()
    if (/"finish_reason":"length"/)
        no("no end")
    else if (is_whole(text) && is_english() && (!goes_round(text) || no("circles")) &&
             knows_its_people(text) && names_agree(text) && (has_its_parts(text) || no("parts")) &&
             (talks_well(text) || no("talk")) && (!draws_a_moral(text) || no("moral")) &&
             (keeps_to(beginning, substr(text, length(beginning) + 1)) || no("subject")) &&
             (makes_sense(text) || no("sense")) &&
             ((new = new_runs(begun = 2 * split(beginning, list, " "))) <= NEW || no("new")) &&
             (neighbours(0, begun) || no("neighbours")) && (first_met(0, begun) || no("the"))) {
        sub(/\n*$/, "", text)
        if (!(text in novelty)) {
            novelty[text] = new
            sound[beginning, ++n_sound[beginning]] = text
        }
    }
}

# Told too often: a third of its runs of five words stand LIKE times in what was chosen.
function is_worn(text,   i, w, worn, here)
{
    cut(text)
    find_runs()
    for (i = 1; i <= runs; i++)
        worn += told[run[i]] >= LIKE
    if (3 * worn > runs)
        return 1
    for (i = 2; i <= pieces; i += 2) {
        w = singular(tolower(piece[i]))
        if (piece[i] in kind_of || w in here || !is_content(w) || stories_with[w] > 0.3 * n_stories)
            continue
        here[w]
        if (used[w] >= (n_chosen + 100) * (1.25 * stories_with[w] / n_stories + 0.05))
            return 1
    }
    for (w in here)
        used[w]++
    for (i = 1; i <= runs; i++)
        told[run[i]]++
    return 0
}

# The best of each beginning: as many as are a PARTth of its answers.
END {
    for (k = 1; k <= n_beginnings; k++) {
        beginning = order[k]
        n_left = int((answers[beginning] + PART - 1) / PART)
        while (n_left > 0) {
            best = 0
            for (i = 1; i <= n_sound[beginning]; i++)
                if (sound[beginning, i] != "" &&
                    (!best || novelty[sound[beginning, i]] < novelty[sound[beginning, best]]))
                    best = i
            if (!best)
                break
            if (is_worn(sound[beginning, best])) {
                no("worn")
            } else {
                printf "%s\n<|endoftext|>\n", sound[beginning, best]
                n_chosen++
                n_left--
            }
            sound[beginning, best] = ""
        }
        n_all += n_sound[beginning]
    }
    printf "%d of %d are sound, %d chosen", n_all, FNR, n_chosen >"/dev/stderr"
    for (why in refused)
        printf "; %s %d", why, refused[why] >"/dev/stderr"
    print "" >"/dev/stderr"
}
