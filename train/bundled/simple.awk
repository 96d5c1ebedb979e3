# awk -f people.awk -f simple.awk STORIES TOLD >SIMPLE     (STORIES only to count words)
#
# Of what was told, the stories a small model can tell: in words that stand eight times or more
# in all the stories, of at most two named people, said in four speeches or fewer, and
# short enough (950 characters, about 230 tokens) to come to their end in one answer.

NR == FNR {
    n = split($0, word, /[^A-Za-z]+/)
    for (i = 1; i <= n; i++)
        count[tolower(word[i])]++
    next
}

function is_simple(text,   n, i, word, met, n_people, marks)
{
    if (length(text) < 250 || length(text) > 950 || text !~ /[.!?]"?\n*$/)
        return 0
    n = split(text, word, /[^A-Za-z]+/)
    for (i = 1; i <= n; i++) {
        if (word[i] != "" && count[tolower(word[i])] < 8)
            return 0
        if (word[i] in kind_of && !(word[i] in met)) {
            met[word[i]]
            n_people++
        }
    }
    marks = gsub(/"/, "\"", text)
    return n_people <= 2 && marks <= 8 && marks % 2 == 0
}

is_simple($0) {
    n_simple++
    printf "%s<|endoftext|>\n", $0
}

END { printf "%d of %d are simple\n", n_simple, FNR >"/dev/stderr" }
