#include "weights/foreign/kinds.h"

#include "weights/foreign/fairseq.h"
#include "weights/foreign/karpathy.h"
#include "weights/foreign/languini.h"

const struct foreign_kind *foreign_kind_of(const struct checkpoint *k)
{
    static const struct foreign_kind *const kinds[] = {&foreign_nanogpt, &foreign_mingpt,
                                                       &foreign_fairseq, &foreign_languini};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->matches(k))
            return kinds[i];
    return NULL;
}
