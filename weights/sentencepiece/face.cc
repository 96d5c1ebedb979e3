#include "weights/sentencepiece/face.h"

#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace
{

/*
 * A text that continues another one has no space put before it and keeps those that it has. The
 * model's file is a protobuf message, of which a later field of a name counts, also within an inner
 * message: these bytes behind it say so (normalizer_spec: add_dummy_prefix and
 * remove_extra_whitespaces are false).
 */
const char GOES_ON[] = "\x1a\x04\x18\x00\x20\x00", NO_PREFIX[] = "\x1a\x02\x18\x00";

struct model {
    sentencepiece::SentencePieceProcessor whole, goes_on;
    sentencepiece::SentencePieceProcessor unprefixed; /* joins spaces as `whole` does */
    bool joins, prefixes;        /* what `whole` does with spaces, and puts before a text */
    std::string text, bytes; /* of the last piece */
};

bool begins_with_space(const sentencepiece::SentencePieceProcessor &p, const std::string &text)
{
    std::vector<std::string> pieces;
    return p.Encode(text, &pieces).ok() && !pieces.empty() &&
           pieces[0].rfind("\xe2\x96\x81", 0) == 0;
}

/* Only of a model that joins spaces something else has to be done for a part than for a text that
 * goes on. */
sentencepiece::util::Status open_parts(model *m, const std::string &file)
{
    const auto status =
        m->unprefixed.LoadFromSerializedProto(file + std::string(NO_PREFIX, sizeof NO_PREFIX - 1));
    std::vector<int> joined, kept;
    if (!status.ok() || !m->unprefixed.Encode("a  a", &joined).ok() ||
        !m->goes_on.Encode("a  a", &kept).ok())
        return status;
    m->joins = joined != kept;
    m->prefixes = begins_with_space(m->whole, "a");
    return status;
}

/* A part that begins with spaces, or what becomes spaces, is as a text before which one is put. */
const sentencepiece::SentencePieceProcessor &processor_of(const model *m, const char *text,
                                                          size_t n, int as)
{
    const int WHOLE = 0, PART = 2;
    const size_t SHORT = 64;
    if (as == WHOLE)
        return m->whole;
    if (as != PART || !m->joins)
        return m->goes_on;
    const bool spaced = begins_with_space(m->goes_on, std::string(text, n < SHORT ? n : SHORT));
    return !spaced ? m->unprefixed : m->prefixes ? m->whole : m->goes_on;
}

/* ▁ is a space. */
void spell(std::string *out, const std::string &piece)
{
    static const std::string sign = "\xe2\x96\x81";
    out->clear();
    for (size_t at = 0; at < piece.size();) {
        if (piece.compare(at, sign.size(), sign) == 0) {
            *out += ' ';
            at += sign.size();
        } else {
            *out += piece[at++];
        }
    }
}

/* Nothing is thrown out of here, into C. */
template <class result, class body> result guarded(result otherwise, body run)
{
    try {
        return run();
    } catch (...) {
        return otherwise;
    }
}

void *open_model(const char *bytes, size_t n, char *why, size_t size)
{
    snprintf(why, size, "no memory");
    return guarded<void *>(nullptr, [&]() -> void * {
        std::string file(bytes, n);
        const std::string own = file;
        model *m = new model();
        sentencepiece::util::Status status = m->whole.LoadFromSerializedProto(file);
        file.append(GOES_ON, sizeof GOES_ON - 1);
        if (status.ok())
            status = m->goes_on.LoadFromSerializedProto(file);
        if (status.ok())
            status = open_parts(m, own);
        if (status.ok() && m->whole.GetPieceSize() > 0)
            return m;
        snprintf(why, size, "%s", status.ok() ? "it has no pieces" : status.error_message());
        delete m;
        return nullptr;
    });
}

void close_model(void *user)
{
    delete static_cast<model *>(user);
}

int count_pieces(const void *user)
{
    return static_cast<const model *>(user)->whole.GetPieceSize();
}

int end_of(const void *user)
{
    return static_cast<const model *>(user)->whole.eos_id();
}

int adds_space(const void *user)
{
    return int(static_cast<const model *>(user)->prefixes);
}

const char *piece_of(void *user, int id, const char **bytes, size_t *n,
                     enum sentencepiece_kind *kind)
{
    return guarded<const char *>(nullptr, [&] {
        model *m = static_cast<model *>(user);
        const auto &p = m->whole;
        m->text = p.IdToPiece(id);
        *kind = p.IsControl(id)  ? SENTENCEPIECE_SPECIAL
                : p.IsUnused(id) ? SENTENCEPIECE_UNUSED
                                 : SENTENCEPIECE_TEXT;
        if (p.IsByte(id)) /* <0x0A> */
            m->bytes.assign(1, static_cast<char>(std::strtol(m->text.c_str() + 3, nullptr, 16)));
        else if (p.IsUnknown(id))
            m->bytes = p.DecodeIds({id});
        else if (*kind == SENTENCEPIECE_SPECIAL)
            m->bytes = m->text;
        else
            spell(&m->bytes, m->text);
        *bytes = m->bytes.data();
        *n = m->bytes.size();
        return m->text.c_str();
    });
}

int encode_text(const void *user, const char *text, size_t n, int as,
                int (*take)(void *user, const int *ids, size_t n), void *to)
{
    return guarded(-1, [&] {
        const model *m = static_cast<const model *>(user);
        std::vector<int> ids;
        const auto &p = processor_of(m, text, n, as);
        if (!p.Encode(absl::string_view(text, n), &ids).ok())
            return -1;
        return take(to, ids.data(), ids.size());
    });
}

const struct sentencepiece_face face = {open_model, close_model, count_pieces, end_of,
                                        adds_space, piece_of,    encode_text};

} // namespace

const struct sentencepiece_face *prattle_sentencepiece_2(void)
{
    return &face;
}
