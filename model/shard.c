#include "model/shard.h"

#include "model/base/par.h"

enum { INNER_COLUMNS = 16, BLOCK_ROWS = 128, MOST_BLOCKS = 16, LEAST_ROWS = 8 };

/* Of n things in whole units, as many for one as for another, or one more; none has more than the
 * first. */
static struct shard_range share_units(int n, int unit, int size, int own)
{
    const int units = (n + unit - 1) / unit;
    const long long first = ((long long)units * own + size - 1) / size,
                    last = ((long long)units * (own + 1) + size - 1) / size;
    return (struct shard_range){(int)first * unit, last * unit < n ? (int)last * unit : n};
}

void shard_init(struct shard *s, const struct config *whole, int n, int own)
{
    const int F = whole->n_inner;
    *s = (struct shard){.n = n, .own = own};
    s->heads = share_units(whole->n_head, 1, n, own);
    s->inner = share_units(F, F >= INNER_COLUMNS * n ? INNER_COLUMNS : 1, n, own);
    s->vocab = share_units(whole->n_vocab, SHARD_COLUMNS, n, own);
    if (s->vocab.first > s->vocab.last)
        s->vocab.first = s->vocab.last;
}

int shard_most(const struct config *whole)
{
    return whole->n_head < whole->n_inner ? whole->n_head : whole->n_inner;
}

void shard_config(struct config *out, const struct config *whole, const struct shard *s)
{
    *out = *whole;
    out->head_size = config_head_size(whole);
    out->n_head = s->heads.last - s->heads.first;
    out->n_inner = s->inner.last - s->inner.first;
    out->n_vocab = s->vocab.last > s->vocab.first ? s->vocab.last - s->vocab.first : 1;
    out->bos_token_id = out->eos_token_id = out->pad_token_id = TOKEN_NONE;
}

int shard_blocks(int n_rows)
{
    int blocks = (n_rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    if (blocks < 2 && n_rows >= 2 * LEAST_ROWS)
        blocks = 2;
    return blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
}

void shard_block(int n_rows, int block, int *first, int *last)
{
    par_split(n_rows, block, shard_blocks(n_rows), first, last);
}

void shard_add(const struct shard *s, const struct shard_sum *sum, int thread)
{
    const struct shard_link *l = &s->link;
    const int blocks = shard_blocks(sum->n_rows);
    if (thread == 0)
        l->begin(l->user, sum->rows, sum->row_bytes, sum->n_rows, sum->rounds);
    for (int round = 0; round <= sum->rounds; round++)
        for (int i = 0; i < blocks; i++) {
            int first, last;
            shard_block(sum->n_rows, i, &first, &last);
            if (thread == 0)
                l->await(l->user, round, i);
            if (round < sum->rounds) {
                par_barrier();
                sum->add(sum->user, round, round == 0 && s->own == 0, first, last);
                par_barrier();
            }
            if (thread == 0)
                l->give(l->user, round, i);
        }
    if (thread == 0)
        l->end(l->user);
    par_barrier();
}

void shard_rows(int n, int own, int n_rows, int *first, int *last)
{
    par_split(n_rows, own, n, first, last);
}

void shard_gather(const struct shard *s, void *rows, size_t row_bytes, int n_rows, int thread)
{
    if (thread == 0)
        s->link.gather(s->link.user, rows, row_bytes, n_rows);
    par_barrier();
}
