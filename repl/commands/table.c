#include "repl/commands/table.h"

#include "repl/commands/commands.h"
#include "repl/commands/data_prepare.h"
#include "repl/commands/help_topics.h"

enum { BOTH = IN_REPL | IN_SHELL };

/* How answers are written, and the windows that a text is measured in. */
#define WRITTEN "raw jsonl save_samples"
#define WINDOWS "seq_length overlap last_n detokenize"

/* clang-format off */
const struct command command_table[] = {
{.name = "regen", .group = "Text", .arguments = "", .flags = ANSWERS | IN_REPL | NEEDS_MODEL, .settings = WRITTEN, .run = cmd_regen,
 .summary = "answer the last prompt again",
 .help = "Answer the last prompt again, with the next random draw of its seed.",
 .related = "undo continue"},
{.name = "undo", .group = "Text", .arguments = "", .flags = IN_REPL | NEEDS_MODEL, .run = cmd_undo,
 .summary = "remove the last prompt and its answer",
 .help = "Remove the last prompt and its answer from the text.",
 .related = "regen reset"},
{.name = "continue", .group = "Text", .arguments = "", .flags = ANSWERS | IN_REPL | NEEDS_MODEL, .settings = WRITTEN, .run = cmd_continue,
 .summary = "continue the text after the last answer",
 .help = "Continue the text after the last answer. With `:set keep on` every prompt continues the text.",
 .related = "regen undo"},
{.name = "why", .group = "Text", .arguments = "[answer N] [all|N|prompt]", .max_words = 3, .flags = IN_REPL | NEEDS_MODEL, .completes = "all prompt answer", .run = cmd_why,
 .summary = "explain the last answer token by token",
 .help = "Explain the last answer: the probability and rank of its uncertain tokens, and the alternatives. "
         "`all` shows every token, N one token with twenty alternatives, `prompt` how the prompt surprised "
         "the model. `answer N` explains another of several answers.",
 .examples = "why\nwhy all\nwhy 12\nwhy prompt\nwhy answer 2 all",
 .related = "next logits tokens"},
{.name = "next", .group = "Text", .arguments = "[--top N] [TEXT]", .flags = IN_REPL | NEEDS_MODEL | TAKES_TEXT | MINOR, .options = "top", .run = cmd_next,
 .summary = "show the most likely next tokens",
 .help = "Show the most likely tokens after TEXT, or after the text so far, before and after the sampling "
         "settings. The text does not change.",
 .examples = "next My name is\nnext --top 40",
 .related = "why logits"},
{.name = "generate", .group = "Text", .arguments = "[TEXT]", .flags = ANSWERS | IN_SHELL | NEEDS_MODEL | TAKES_TEXT,
 .options = "ids output", .settings = WRITTEN, .run = cmd_generate,
 .summary = "answer one prompt, as text or token IDs",
 .help = "Answer one prompt, given as TEXT or as token IDs, and print the answer as text or token IDs. "
         "Without TEXT read the prompt from standard input, up to its end.",
 .examples = "generate \"My name is\" --max-new-tokens 20\ngenerate --ids 3666,1438,318 --greedy --output ids",
 .related = "batch logits"},
{.name = "logits", .group = "Text", .arguments = "[TEXT]", .flags = ANSWERS | IN_SHELL | NEEDS_MODEL | TAKES_TEXT,
 .options = "ids all out force top", .run = cmd_logits,
 .summary = "the most likely next tokens, or all logits",
 .help = "Print the most likely next tokens after TEXT, read as a prompt is, or after token IDs as they are, and write all logits to a NumPy file. At a terminal as :next shows them; in a pipe one a line: ID, logit, probability by the model alone, and the token in quotes.",
 .examples = "logits \"My name is\"\nlogits --ids 3666,1438,318 --all --out logits.npy",
 .related = "tokens generate why"},
{.name = "tokens", .group = "Text", .arguments = "[TEXT]", .flags = BOTH | TAKES_TEXT | LISTS, .options = "ids", .settings = "special", .run = cmd_tokens,
 .summary = "show the tokens and token IDs of a text",
 .help = "Show the tokens of TEXT with their IDs; at the prompt without TEXT, of the text so far. "
         "In the shell print the IDs alone, and without TEXT read standard input; with --ids print their text.",
 .examples = "tokens My name is",
 .related = "tokenizer logits"},
{.name = "batch", .group = "Text", .arguments = "FILE [OUT]", .min_words = 1, .max_words = 2, .flags = ANSWERS | BOTH | BY_RANKS | NEEDS_MODEL, .completes = "path",
 .options = "force", .settings = WRITTEN, .run = cmd_batch,
 .summary = "answer each line of a file",
 .help = "Answer each line of FILE as a prompt, one line per answer, and write the answers to OUT. "
         "Piped prompts are answered the same way; in the shell - for FILE or OUT is the pipe. The setting jsonl reads and writes JSON lines.",
 .examples = "batch prompts.txt answers.txt\nbatch prompts.jsonl answers.jsonl --jsonl",
 .related = "generate"},

{.name = "load", .group = "Model", .arguments = "[PATH|NAME]", .max_words = 1, .flags = IN_REPL, .completes = "path bundled cached random", .run = cmd_load,
 .summary = "load a model",
 .help = "Load a model: a Hugging Face folder, a .safetensors, .bin or .gguf file, a checkpoint of llm.c, nanoGPT, "
         "minGPT, fairseq or Languini, a PEFT adapter, bundled (the model that ships), random:gpt2 (random weights), "
         "or one of the Hugging Face Hub by its name, gpt2 or openai-community/gpt2@REVISION (of several GGUF "
         "files ORG/NAME/FILE.gguf or ORG/NAME:Q8_0), from the cache or downloaded. Without PATH, load the model that the setting `model` names.",
 .examples = "load ./gpt2\nload model.gguf\nload gpt2\nload random:gpt2",
 .related = "model hub save lora"},
{.name = "model", .group = "Model", .arguments = "[PATH|NAME]", .max_words = 1, .flags = BOTH, .completes = "path bundled cached random", .run = cmd_model,
 .summary = "show the model: shape, source, precision",
 .help = "Show the model: where it was loaded from, its shape, parameters, context, vocabulary and precision. "
         "In the shell PATH or NAME says which, as --model does.",
 .examples = "model\nmodel gpt2.gguf",
 .related = "load devices"},
{.name = "save", .group = "Model", .arguments = "DIR|FILE.gguf|FILE.bin", .min_words = 1, .max_words = 1, .flags = IN_REPL | NEEDS_MODEL, .completes = "path",
 .options = "force compat", .settings = WINDOWS " special", .run = cmd_save,
 .summary = "save the model",
 .help = "Save the model as a Hugging Face folder, a GGUF file or llm.c's .bin, in the precision it was loaded from "
         "(quantized weights as F32, but Q8_0 as it is in GGUF files) unless --dtype is given. A LoRA adapter that is on is merged.",
 .examples = "save my-model\nsave my-model.gguf --dtype fp16",
 .related = "load convert lora session"},
{.name = "convert", .group = "Model", .arguments = "IN OUT [TEXT]", .min_words = 2, .max_words = 3, .flags = BOTH, .completes = "path",
 .options = "force compat limit", .settings = WINDOWS " special", .run = cmd_convert,
 .summary = "convert a model to another format",
 .help = "Convert a model: IN is any model that `--model` takes, OUT a Hugging Face folder, a GGUF file or llm.c's .bin. "
         "Tensors stay the same, bit for bit, and quantized ones become F32 (but Q8_0 stays in GGUF files), unless --dtype is given. "
         "With --dtype q8 the loss before and after is shown, on TEXT, or on four windows of wiki.test.raw where the data folder has it.",
 .examples = "convert ./gpt2 gpt2.gguf\nconvert gpt2.gguf gpt2-fp16 --dtype fp16\nconvert ./gpt2 gpt2-q8.gguf --dtype q8",
 .related = "save load eval"},
{.name = "hub", .group = "Model", .arguments = "[get NAME|remove NAME]", .max_words = 2, .flags = BOTH | MINOR,
 .completes = "get remove then cached", .options = "format", .run = cmd_hub,
 .summary = "models downloaded from the Hugging Face Hub",
 .help = "List what is in the Hugging Face cache, which Python programs share: size, last use, revisions. "
         "A model given by its name is loaded from there, and downloaded only if it is not there.",
 .forms = "get NAME[@REVISION]\tdownload a model, or what is new of it\n"
          "remove NAME[@REVISION]\tremove a model, or a revision of it",
 .examples = "hub\nhub get openai-community/gpt2\nhub remove gpt2",
 .related = "load"},
{.name = "lora", .group = "Model", .arguments = "[load DIR|save DIR|on|off|merge|drop]", .max_words = 2, .flags = IN_REPL | NEEDS_MODEL,
 .completes = "word then path", .words = cmd_lora_word, .options = "force", .run = cmd_lora,
 .summary = "load, save, switch or merge a LoRA adapter",
 .help = "Show the model's LoRA adapter, or work on it. Files are PEFT's.",
 .forms = "load DIR\tload an adapter for this model\nsave DIR\tsave the adapter\n"
          "on, off\tanswer with or without the adapter\nmerge\tadd the adapter to the model's weights\n"
          "drop\tremove the adapter",
 .examples = "lora load my-adapter\nlora off",
 .related = "train save load"},
{.name = "cache", .group = "Model", .arguments = "[clear [NAME]]", .max_words = 2, .flags = BOTH | MINOR, .completes = "clear then cached", .run = cmd_cache,
 .summary = "show or clear the cache of prepared weights",
 .help = "Show the cache from which Hugging Face models load faster the second time: each model with its size "
         "and when it was last used; and how many texts of training and evaluation it has, encoded. clear deletes "
         "all of both, or the model NAME. The setting cache_size limits the models.",
 .examples = "cache\ncache clear\ncache clear gpt2",
 .related = "load model devices"},

{.name = "train", .group = "Training", .arguments = "CONFIG [KEY=VALUE ...]|show|status [FOLDER]|resume [FOLDER]", .min_words = 1, .max_words = -1, .flags = ANSWERS | BOTH | BY_RANKS,
 .completes = "show status resume preset path then run_setting path ; show preset path run_setting ; status path", .options = "plan", .run = cmd_train,
 .summary = "train or fine-tune the model",
 .help = "Train or fine-tune the model in memory. Ctrl-C pauses the run.",
 .forms = "CONFIG [KEY=VALUE ...]\tstart a run from a preset, a YAML or a JSON file\n"
          "CONFIG --plan [ranks=N link=GB/s latency=us disk=GB/s]\tshow memory and time of the run, and what more processes would bring\n"
          "show [CONFIG|FOLDER]\tshow a run's settings, or those named, with origins\n"
          "status [FOLDER]\tshow the progress of this run, or of one in another process\n"
          "resume [FOLDER]\tresume the paused run, or one from its folder",
 .examples = "train finetune data=my.txt steps=200\ntrain lora data=my.txt\ntrain nanogpt-shakespeare data=input.txt --plan\n"
             "train nanogpt-shakespeare data=input.txt gradient_blocks=2 replicas=2\ntrain resume",
 .topics = "training\tall settings of a run\npresets\tthe presets\nsystems\tthe options of other programs",
 .related = "plot eval lora data"},
{.name = "plot", .group = "Training", .arguments = "[CURVE ...] [over=AXIS] [FILE.svg|FILE.png] [FOLDER ...]", .max_words = -1, .flags = BOTH,
 .completes = "word path", .words = cmd_plot_word, .options = "force", .run = cmd_plot,
 .summary = "plot loss curves of a run, or compare runs",
 .help = "Plot curves of a run: loss and validation_loss, or any number in its metrics.jsonl. "
         "FOLDER names another run; those of several are drawn together, to compare them. FILE.svg and FILE.png are drawn by gnuplot.",
 .examples = "plot\nplot loss learning_rate over=hours\nplot loss.svg runs/finetune\nplot validation_loss runs/a runs/b",
 .related = "train"},
{.name = "data", .group = "Training", .arguments = "info PATH|check PATH [TEXTS ...] [KEY=VALUE ...]|get NAME|prepare IN ... OUT [KEY=VALUE ...]|convert IN OUT", .min_words = 2, .max_words = -1, .flags = BOTH,
 .completes = "info check get prepare convert then path ; get published ; prepare word path ; convert word path", .words = data_prepare_word, .explain = cmd_data_explain, .options = "force", .settings = "special", .run = cmd_data,
 .summary = "look at training data, get or prepare it",
 .help = "Show what training would read from a text, a folder, a .jsonl, .bin, .tfrecord, .pkl or .npy file; check that a tokenized data set is whole; download a published text, such as wikitext, "
         "which is checked against its SHA-256; or make token files of texts: plain text, JSON lines, CSV, Parquet, "
         "WikiExtractor's folders and dumps of Wikipedia (pages-articles.xml.bz2); or of other token files. "
         "All texts, .pkl and .tfrecord may be compressed or in archives. The tokenizer is the model's; tokenizer=PATH at the end names another.",
 .forms = "info PATH\tshow documents, tokens, token IDs and the beginning\n"
          "check PATH [TEXTS ...]\tcheck every token ID, a folder's files and file lists, and that TEXTS, read by field= and document_separator=, give these tokens\n"
          "get NAME\tdownload a text to where eval looks for it\n"
          "prepare IN ... OUT\tencode the documents of IN into OUT, or split, shuffle and thin out those of token files; an interrupted command continues when it is given again\n"
          "convert IN OUT\tconvert a token file or JSON lines to another format, by the name of OUT or format=; llm.c's documents begin with the end-of-text token, the others' end with it",
 .examples = "data info my.txt\ndata get wikitext\ndata prepare my.txt my-tokens\ndata prepare books.tar.xz news.jsonl data/train split=0.95,0.05\ndata convert data/train train.tfrecord\ndata check my-tokens my.txt",
 .related = "train tokenizer"},
{.name = "tokenizer", .group = "Training", .arguments = "train TEXT OUT", .min_words = 3, .max_words = 3, .flags = BOTH, .completes = "train then path",
 .options = "vocab_size min_frequency force", .run = cmd_tokenizer,
 .summary = "train a byte-level BPE tokenizer",
 .help = "Train a byte-level BPE tokenizer on a text file or a folder of text files, and write vocab.json and "
         "merges.txt to the folder OUT.",
 .examples = "tokenizer train stories.txt vocabulary --vocab-size 4096",
 .related = "tokens train"},

{.name = "eval", .group = "Measuring", .arguments = "WHAT [FILE]|history [WORD ...|clear]", .min_words = 1, .max_words = -1, .flags = BOTH | BY_RANKS, .completes = "word history path then path ; history clear", .words = cmd_eval_word, .explain = cmd_eval_explain,
 .options = "limit strict like other_dtype other_cache_dtype json format all last force", .settings = WINDOWS " special keep_results", .run = cmd_eval,
 .summary = "perplexity, accuracy, KL divergence",
 .help = "Evaluate the model. WHAT is an evaluation, such as wikitext or kl, or a text of yours: a file, a folder or a pattern such as *.txt. "
         "history shows past results: all, or those with the WORDs in model, precision, day, evaluation, "
         "file or definition; clear deletes all results, with --force at once.",
 .topics = "formats\tthe files it reads and their fields",
 .examples = "eval my.txt\neval lambada --strict\neval kl ./other my.txt\neval history wikitext --last 5\neval history lambada strict",
 .related = "train bench"},
{.name = "bench", .group = "Measuring", .arguments = "[NAME|FILE ...]|SPEC.yaml [NAME ...]|history [SIDE SIDE|clear]", .max_words = -1, .flags = ANSWERS | BOTH, .options = "format force last",
 .completes = "word history path then word path ; history clear", .words = cmd_bench_word, .settings = "keep_results", .run = cmd_bench,
 .summary = "measure speed next to the machine's limits",
 .help = "Measure the speed of this machine and model, each figure next to its limit. train=4x256 measures "
         "training steps of 4 windows of 256 tokens; FILE is a text for the tokenizer benchmark. Where PEER_LLAMA "
         "names a llama-bench, or PEER_TORCH a python with PyTorch, these do the same work in turns, and a "
         "column has this program's speed divided by theirs.",
 .forms = "SPEC.yaml [NAME ...] [repeats=N] [FILE.svg]\tbenchmarks by name, as Graphcore's benchmarks.yml: a command "
          "of prattle (no other is run), parameters, what to read from the output. {model} is the model in memory; "
          "threads, kernels and precisions are the session's where the command has none\n"
          "graphcore-gpt2.yaml|languini.yaml|popxl.yaml\tthe specifications that come with prattle\n"
          "history [SIDE SIDE]\tcompare the results of a SPEC.yaml on two days (2026-11-22), machines, or MACHINE/DAY; p is the Mann-Whitney U "
          "test's, two-sided: above 0.05 a difference is noise\n"
          "history clear\tdelete all results; --force: at once",
 .examples = "bench\nbench decode prefill\nbench train=4x256\nbench languini.yaml languini_mini_sweep repeats=3 sweep.svg\n"
             "bench history\nbench history 2026-11-22 2026-11-23",
 .related = "devices eval"},
{.name = "profile", .group = "Measuring", .arguments = "[--force] FILE COMMAND", .flags = BOTH | TAKES_TEXT | TAKES_COMMAND | MINOR, .completes = "path then command", .options = "force", .run = cmd_profile,
 .summary = "run a command and show where its time went",
 .help = "Run COMMAND, any of these commands, and write FILE as a Chrome trace, which ui.perfetto.dev opens: the layers, "
         "kernels and barriers of each thread, the exchange with other processes, the phases of training, the data loader, and GFLOP/s and GB/s. A table shows "
         "where the time went and its share of what the machine can do in float32; in the shell the table is on standard error. "
         "Ctrl-C stops COMMAND and keeps the trace so far. Of several processes, FILE has rank 0. "
         "`profile FILE generate TEXT` profiles an answer.",
 .examples = "profile trace.json generate Once upon a time\nprofile trace.json train finetune data=my.txt steps=5\nprofile trace.json eval my.txt",
 .related = "bench devices"},
{.name = "devices", .group = "Measuring", .arguments = "", .flags = ANSWERS | BOTH | MINOR, .run = cmd_devices,
 .summary = "show threads, instruction set and memory",
 .help = "Show threads, instruction set, and memory by part.",
 .related = "model bench"},

{.name = "set", .group = "Session", .arguments = "[GROUP|NAME [VALUE]|NAME=VALUE ...]", .flags = IN_REPL | TAKES_TEXT | LISTS, .completes = "setting group then value", .run = cmd_set,
 .summary = "show or change settings",
 .help = "Show or change settings. Changes last until `:reset` or the end of the session; "
         "settings.yaml keeps those that are written there. A # after a space begins a comment; in quotes it belongs to the value.",
 .examples = "set\nset temperature 0.7  # calmer\nset temperature=0.7 top_p=0.9\nset stop \"\\n\"\nset stop \"\\n #\"",
 .topics = "settings\tall settings\nsampling\tthe sampling settings",
 .related = "reset"},
{.name = "reset", .group = "Session", .arguments = "[NAME|GROUP|text]", .max_words = 1, .flags = IN_REPL, .completes = "text setting", .run = cmd_reset,
 .summary = "undo :set changes",
 .help = "Undo all that :set changed, or that of the setting NAME or of the settings in GROUP; `:reset text` starts a new text.",
 .examples = "reset\nreset temperature\nreset sampling\nreset text",
 .related = "set undo"},
{.name = "session", .group = "Session", .arguments = "save|load FILE", .min_words = 2, .max_words = 2, .flags = IN_REPL | NEEDS_MODEL, .completes = "save load then path",
 .options = "force", .run = cmd_session,
 .summary = "save or load text, settings and cache",
 .help = "Save the text, the settings and the cache of keys and values to FILE, or load them; of the steps that :undo takes back, the last.",
 .examples = "session save story.session\nsession load story.session",
 .related = "save"},
{.name = "history", .group = "Session", .arguments = "[N]", .max_words = 1, .flags = IN_REPL | MINOR | LISTS, .run = cmd_history,
 .summary = "show the last lines typed",
 .help = "Show the last N lines typed; 20 without N."},
{.name = "help", .also = "h|?", .group = "Session", .arguments = "[NAME]", .max_words = -1, .flags = BOTH | MINOR | LISTS, .completes = "command setting word", .words = help_topic_name,
 .options = "format", .run = cmd_help,
 .summary = "help on a command, setting or topic",
 .help = "List the commands, or explain a command, a setting or a topic.",
 .topics = "commands\tall commands with arguments\nsettings\tall settings by group\n"
           "sampling\tone group: machine, text, sampling, penalties, search, terminal, batches, evaluation, options\n"
           "training\tall settings of a training run\npresets\tpresets of training runs\n"
           "systems\tthe options of other programs, and their names here",
 .examples = "help train\nhelp top_p"},
{.name = "quit", .also = "q|exit", .group = "Session", .arguments = "", .flags = IN_REPL | MINOR, .run = cmd_quit,
 .summary = "quit prattle",
 .help = "Quit. With unsaved weights, a second `:quit` is needed. Ctrl-D at an empty prompt quits too.",
 .related = "save session"},
{0},
};
/* clang-format on */
