# What the scripts here share: chance, a text as words, who is he and who is she; for awk -f people.awk -f SCRIPT.

# A number from 0 to n - 1, the next of a row that `state` begins: the same by any awk.
function below(n)
{
    state = (state * 16807) % 2147483647 # Park and Miller's minimal standard
    return int(state / 2147483647 * n)
}

# One of those that a text names, with `between` between them.
function one_of(text, between,   list)
{
    return list[1 + below(split(text, list, between))]
}

# As a capital where `like` has one.
function as(word, like)
{
    return like ~ /^[A-Z]/ ? toupper(substr(word, 1, 1)) substr(word, 2) : word
}

# A text as piece[1..pieces]: words at the even places, what stands between them at the odd ones.
function cut(text)
{
    pieces = 0
    while (match(text, /[A-Za-z]+/)) {
        piece[++pieces] = substr(text, 1, RSTART - 1)
        piece[++pieces] = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
    }
    piece[++pieces] = text
}

# spoken[i]: the word at i stands between quotation marks.
function find_spoken(   i, quotes)
{
    split("", spoken)
    for (i = 1; i <= pieces; i++)
        if (i % 2)
            quotes += gsub(/"/, "\"", piece[i])
        else
            spoken[i] = quotes % 2
}

function read_names(kind, text,   list, i)
{
    n_names[kind] = split(text, list, " ")
    for (i in list) {
        names[kind, i] = list[i]
        kind_of[list[i]] = kind
    }
}

function read_persons(kind, text,   list, i)
{
    split(text, list, " ")
    for (i in list)
        person[list[i]] = kind
}

BEGIN {
    RS = "<\\|endoftext\\|>\n" # a pattern, which mawk and gawk know
    read_names("he", "Tim Tom Sam Ben Max Bob Jack Timmy John Billy Tommy Joe Jimmy Leo Mark Jerry " \
                     "Jim Fred Andy Pete Jake Charlie Danny Toby Peter")
    read_names("she", "Lily Mia Sue Lucy Anna Amy Sally Sara Jane Sarah Lila Daisy Molly Jill Bella " \
                      "Mary Emma Jenny Ella Lisa Polly Emily")
    read_persons("he", "boy boys man men dad daddy papa father grandpa grandfather brother king " \
                       "prince uncle son mr")
    read_persons("she", "girl girls woman women mom mommy mum mummy mama mother grandma grandmother " \
                        "granny sister queen princess aunt daughter mrs lady")
}
