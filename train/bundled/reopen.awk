# awk -f people.awk -f reopen.awk TOLD >REOPENED
#
# Stories with other openings than "Once upon a time" and "One day", that the model learns to go on from
# many: three of four that begin so begin otherwise.

function upper(text)
{
    return toupper(substr(text, 1, 1)) substr(text, 2)
}

# "there was HEAD named NAME. REST", where VERB is how REST goes on behind "He", "She" or the name.
function introduced(head, name, rest, verb,   who, way)
{
    who = head
    sub(/^an? /, "", who)
    way = below(6)
    if (way == 0)
        return "There was " (below(2) ? "once " : "") head (name == "" ? "" : " named " name) ". " rest
    if (name == "")
        return verb == "" ? "There was " head ". " rest : (way < 3 ? upper(head) : "The " who) " " verb
    if (way == 2 && verb != "")
        return upper(head) " named " name " " verb
    if (way == 3 && verb != "" && who ~ /(boy|girl)$/)
        return name " " verb
    if (way == 4)
        return one_of("This is a story about |I know |Do you know |Listen to the story of ", "|") \
            head " named " name ". " rest
    if (way != 1 && verb != "")
        return "The " who " named " name " " verb
    return name " was " head ". " rest
}

function reopened(text,   head, name, rest, verb, his)
{
    if (match(text, /^Once( upon a time)?,? (in [a-z ]+, )?there (was|lived) an? [a-z ,]+( (named|called) [A-Z][a-z]+)?\. /)) {
        head = substr(text, 1, RLENGTH)
        rest = substr(text, RLENGTH + 1)
        sub(/^.*there (was|lived) /, "", head)
        sub(/\. $/, "", head)
        if (match(head, / (named|called) [A-Z][a-z]+$/)) {
            name = substr(head, RSTART + 7)
            sub(/^ +/, "", name)
            head = substr(head, 1, RSTART - 1)
        }
        if (head ~ /,| (who|that|with|in) /)
            return text
        if (match(rest, /^(He|She|It) /) || name != "" && match(rest, "^" name " "))
            verb = substr(rest, RLENGTH + 1)
        return introduced(head, name, rest, verb ~ /^(is|and) / ? "" : verb)
    }
    if (match(text, /^One day, an? [a-z ]*(boy|girl) named [A-Z][a-z]+ /) && below(3)) {
        head = substr(text, 10, RLENGTH - 10)
        rest = substr(text, RLENGTH + 1)
        name = head
        sub(/.* /, "", name)
        his = kind_of[name] == "he" ? "his" : "her"
        if (below(2))
            return name " " rest
        return one_of("On " his " birthday, |After school, |After lunch, |In the morning, |" \
                      "On a sunny day, |On a cold day, |Yesterday, |Today, |One night, |In the afternoon, |" \
                      "It was a sunny day, and |It was a windy day, and |The sun was up, and |" \
                      "It was a cold morning, and |It was Sunday, and ", "|") (below(2) ? name : head) " " rest
    }
    if (match(text, /^One (sunny |hot |cold |rainy )?day, /) &&
        substr(text, RLENGTH + 1, 200) !~ /^[^.]*(One|that) day/) {
        rest = substr(text, RLENGTH + 1)
        if (below(2))
            return upper(rest)
        return one_of("In the morning, |On a sunny day, |On a cold day, |Yesterday, |Today, |" \
                      "In the afternoon, |It was a sunny day, and |It was a windy day, and |" \
                      "The sun was up, and |It was a cold morning, and |It was Sunday, and ", "|") rest
    }
    return text
}

BEGIN { state = 777 }

{
    printf "%s<|endoftext|>\n", below(5) ? reopened($0) : $0
}
