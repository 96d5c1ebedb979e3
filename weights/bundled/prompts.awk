# awk -f people.awk -f prompts.awk STORIES >PROMPTS.jsonl
#
# Beginnings to tell stories from: of stories, by a few of their words; of sentences from their
# middle, with which no story began; "My name is" and "One day, a boy named". JSON lines.

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
        if (sentence[i] ~ /^(The|A|An|In|On|At|It|There|When|Every|All|Some|Many|[A-Z][a-z]+ (saw|went|was|liked|loved|wanted|had|found|lived)) / &&
            sentence[i] !~ /^(He|She|They|It|I|We|But|So|Then) / && sentence[i] !~ /["\n]/)
            return first_words(sentence[i], 2 + below(4))
    return ""
}

BEGIN { state = 30003 }

{
    kind = below(10)
    if (kind < 3)
        prompt = first_words($0, 4 + below(8))
    else if (kind == 3)
        prompt = "My name is"
    else if (kind == 4)
        prompt = "One day, a " (below(2) ? "boy" : "girl") " named"
    else
        prompt = from_the_middle($0)
    if (prompt != "" && prompt !~ /["\n.!?]/)
        printf "{\"prompt\":\"%s\"}\n", prompt
}
