#ifndef PRATTLE_TRAIN_RUN_INSIDE_H
#define PRATTLE_TRAIN_RUN_INSIDE_H
/*
 * A run as the files of this folder see it; to all others it is opaque.
 */
#include "model/base/disk_file.h"
#include "model/layer_stream.h"
#include "train/config/phased_plan.h"
#include "train/config/plan.h"
#include "train/config/resolve.h"
#include "train/data/batches.h"
#include "train/eval/eval.h"
#include "train/optim/optimizer.h"
#include "train/parallel/layout.h"
#include "train/run/events.h"
#include "train/run/folder.h"
#include "train/run/trainer_state.h"
#include "train/step/merge_limit.h"
#include "train/step/weights.h"

/* What makes a step bad, so that it is left out. */
enum run_fault { FAULT_NONE, FAULT_NAN, FAULT_SPIKE, FAULT_WEIGHTS };

/* Why the run is to stop, once what was due at the step is done. */
struct run_stop {
    int64_t bad_steps;    /* in a row; 0: it goes on */
    enum run_fault fault; /* and loss, of the last */
    double loss;
};

/* What the model had before the run's weights last came there. */
struct model_before {
    bool held; /* it is here */
    /* The block of its parameters: where the run's own weights are on disk in a working file too,
     * else a beginning in the step's gradients, and the rest in own. */
    struct disk_file spare; /* without a name: none */
    char *idle;             /* [idle_bytes] */
    size_t idle_bytes;
    char *own; /* [own_bytes] */
    size_t own_bytes;
    float *adapter; /* [n] of the copy beside the model, where an adapter is trained; else NULL */
    struct layer_stream_file file; /* where its layers are on disk; release NULL: none */
    bool attached, on, changed;    /* that copy; changed: or the model */
};

enum { RUN_PROBE = 64 };

struct run_ranks;
struct run_shares;
struct run_pipeline;
struct run_tensor;
struct run_scatter;
struct run_spread;

struct run {
    struct run_config config; /* resolved */
    struct run_events events;
    struct model *model; /* borrowed */
    struct run_folder folder;
    struct dataset train, validation; /* validation.n_tokens 0: none */
    struct batches *batches;
    struct source_reads
        *reads;                /* [sources of the mixture] as of the last line; owned, NULL: none */
    struct draw_cursor drawn;  /* what they were counted by */
    struct phased_plan phased; /* what of the weights and of a step is on disk */
    struct weights weights;
    struct weights trainable;       /* borrowed: the weights, or the adapter */
    struct adapter *adapter;        /* that is trained; NULL: the weights are */
    struct adapter *shown;          /* its copy for the model, which owns it once it is attached */
    unsigned char base[32];         /* SHA-256 of the weights that are frozen */
    struct merge_limit merge_limit; /* of the adapter and these */
    struct optimizer *optimizer;
    struct step *step;
    struct phased_step *phased_step;          /* whose step that is; NULL: it is in memory */
    struct activation_stats activation_stats; /* of the last step that collected them */
    bool collects_activation_stats;           /* that is the step in progress */
    int threads;                              /* of the team that step was made for */
    struct metrics_log *log;
    struct metrics metrics;

    struct trainer_state state; /* of the last whole step */
    int64_t n_steps;            /* 0: hours alone end the run */
    enum run_status status;

    /* The step in progress: micro-batches done, what they add up to, and the one at work,
     * where that was interrupted (ids NULL: none); its first window's number in the run. */
    int micro;
    struct step_result sum;
    struct layout layout;    /* of the ranks there are */
    struct run_ranks *ranks; /* NULL: one process */
    struct run_shares *shares;
    struct run_pipeline *pipeline; /* NULL: each rank has all layers */
    struct run_tensor *tensor;     /* NULL: each rank has whole layers */
    struct run_scatter *scatter; /* zero=2; NULL: all gradients are kept until the step is whole */
    struct run_spread *spread;   /* zero=1, 2; NULL: each replica updates all weights */
    bool joined;                 /* the others follow rank 0's word */
    const token_id *ids, *labels;
    uint64_t sequence;
    struct run_stop stop;
    double sgemm_flops; /* of the machine; 0: not measured */
    unsigned due;
    int64_t saved_step;
    unsigned saved_due; /* of DUE_LATER, in the checkpoint of this step */
    bool changed;       /* the settings, since that */
    struct eval_result evaluation; /* the last of the one that the configuration names */
    int64_t evaluated_step;        /* -1: none yet */
    uint64_t published;            /* the model's version with the weights of step published_at */
    int64_t published_at;
    struct model_before before;
    token_id probe[RUN_PROBE]; /* [n_probe], the beginning of the data */
    int n_probe;
    int64_t probed_at; /* the last step of whose weights inference made finite logits; -1: none */
    bool lost;         /* of those as they are it does not: nothing goes on from them */
};

#endif
