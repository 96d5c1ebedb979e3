#include "repl/session/foreign_settings.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/setting.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 64 };

static const struct {
    const char *names, *options; /* "a|b"; no name has no_ before it */
    const char *sentence;
} all[] = {
    {"ctx_size|num_ctx|n_ctx|context_size", "-c", "the context is as long as the model's"},
    {"n_gpu_layers|gpu_layers|num_gpu|main_gpu|split_mode|tensor_split|device", "-ngl|-sm|-ts",
     "prattle computes on CPUs"},
    {"num_thread|threads_batch", "-tb", "threads is for prompts and answers"},
    {"ubatch_size|parallel", "-ub|-np", "batch_size is the number of prompts answered at once"},
    {"flash_attn", "-fa", "there is one kind of attention, which needs no option"},
    {"cache_type_k|cache_type_v", "-ctk|-ctv", "cache_dtype is for keys and values"},
    {"mlock|mmap|use_mmap|use_mlock|numa", NULL, "memory sets a limit, in GB"},
    {"file|prompt_file", NULL,
     "`prattle < FILE` answers each line of FILE, `prattle generate < FILE` all of it"},
    {"escape", "-e", "`prattle generate < FILE` answers a prompt of several lines"},
    {"interactive|interactive_first|conversation|single_turn", "-i|-cnv|-no-cnv|-st",
     "prattle without -p opens the prompt"},
    {"system|system_prompt|chat_template|jinja", "-sys",
     "template is a text with {prompt} in it, which is read for each prompt"},
    {"tools|functions|tool_choice", NULL,
     "grammar takes one function, whose arguments the answer is then"},
    {"in_prefix|in_suffix|input_prefix|input_suffix", NULL,
     "template is a text with {prompt} in it, which is read for each prompt"},
    {"suffix", NULL, "a prompt is continued at its end only"},
    {"model_draft|draft_model", NULL, "speculate takes the model that drafts"},
    {"draft|draft_max|draft_min|draft_p_min", NULL, "speculate chooses how many tokens it drafts"},
    {"samplers|sampling_seq|sampler_seq", NULL, "chain has the stages of sampling in order"},
    {"n_keep|num_keep|n_discard|context_shift", NULL,
     "on_full is slide to keep the newer half of a full context"},
    {"tfs|tfs_z", NULL, "min_p drops the unlikely tokens instead"},
    {"best_of", NULL,
     "num_return_sequences writes several answers, num_beams searches for the likeliest"},
    {"prompt_cache|prompt_cache_all", NULL,
     "`:session save FILE` at the prompt keeps a text and its cache"},
    {"length|max_length", NULL, "max_new_tokens counts the tokens of the answer alone"},
    {"nsamples|num_samples", NULL, "num_return_sequences writes several answers"},
    {"eos_token_id", NULL, "stop_token has the tokens that end an answer"},
    {"do_sample", NULL, "temperature 0 takes the likeliest token each time"},
    {"stream|stream_options", NULL, "leave it out: a whole answer is one line"},
    {"user|keep_alive|cache_prompt|id_slot|slot_id|return_tokens|timings_per_token", NULL,
     "leave it out: it changes no answer here"},
    {"options", NULL, "write what is in it into the line itself"},
    {"verbose_prompt", NULL, "`prattle tokens TEXT` shows a prompt's tokens"},
    {"hf_repo|hf_file", "-hf|-hfr|-hff", "a model of the Hub is named as any other, ORG/NAME"},
    {"parameter|parameters", NULL, "`:set NAME VALUE` sets one"},
    {NULL, "-r", "stop has the texts that end an answer"},
    {NULL, "-j", "grammar takes a JSON schema"},
    {NULL, "-l", "logit_bias takes ID:BIAS pairs"},
    {"perplexity|ppl", NULL, "`prattle eval FILE` measures perplexity"},
};

/* Whether name is one of "a|b". */
static bool is_one_of(const char *list, const char *name)
{
    char one[NAME];
    while (list != NULL && *list != '\0') {
        const size_t n = strcspn(list, "|");
        snprintf(one, sizeof one, "%.*s", (int)n, list);
        if (setting_same_name(one, name))
            return true;
        list += n + (list[n] == '|');
    }
    return false;
}

const char *foreign_setting_named(const char *name)
{
    const bool no = strncmp(name, "no_", 3) == 0 || strncmp(name, "no-", 3) == 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_one_of(all[i].names, name) || (no && is_one_of(all[i].names, name + 3)))
            return all[i].sentence;
    return NULL;
}

static const char *find_short(const char *option)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_one_of(all[i].options, option))
            return all[i].sentence;
    return NULL;
}

/* Whether the error is one of this word: of its first letter, which is an option here, or of none.
 */
static bool is_refused(const char *word)
{
    const char *text = err_text(), *unknown = "there is no option ";
    const size_t n = strlen(unknown);
    return (word[2] != '\0' && text_ends_in(text, word + 2)) ||
           text_ends_in(text, "takes no value") ||
           (strncmp(text, unknown, n) == 0 && strncmp(text + n, word, strlen(word)) == 0);
}

int foreign_setting_explain(int rc, char *const *words, int n)
{
    for (int i = 0; i < n && (rc == ERR_MISSING || rc == ERR_RANGE); i++) {
        const char *sentence = find_short(words[i]);
        if (sentence != NULL && is_refused(words[i]))
            return err_set(rc, "there is no option %s; %s", words[i], sentence);
    }
    return rc;
}
