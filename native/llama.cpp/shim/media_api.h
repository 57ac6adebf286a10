// SPDX-License-Identifier: MIT
// The part of penstock.h about pictures and sounds, which libmtmd turns into embeddings. They come
// decoded: no file reaches this code.

typedef struct ps_projector ps_projector; // the weights of an encoder for one model, and the buffers of a pass

typedef struct ps_projector_params {
    const char *device;       // what computes besides the CPU; empty: nothing
    int32_t threads;
    int32_t flash_attention;  // -1 auto, 0 off, 1 on
    int32_t least, most;      // embeddings of a picture where the projector leaves a choice; 0: as its file says
} ps_projector_params;

typedef struct ps_projector_info {
    bool vision, audio;
    bool mrope;          // a position has four coordinates, so that a picture takes fewer positions than cells
    int32_t sample_rate; // of sounds in Hz; 0 without audio
    int32_t width;       // numbers of an embedding
} ps_projector_info;

// Loads a file. libmtmd trusts it: check it first, as native/gguf and host/model do.
int32_t ps_projector_open(ps_model *model, const char *path, const ps_projector_params *params, ps_projector **out,
                          ps_projector_info *info, ps_error *err) PS_NOEXCEPT;
void ps_projector_free(ps_projector *projector) PS_NOEXCEPT;

// What stands for one picture or sound in a prompt: pieces that are tokens or embeddings.
typedef struct ps_media ps_media;

enum { PS_MEDIA_SIDE = 16384, PS_MEDIA_ASPECT = 100, PS_MEDIA_PIXELS = 1 << 26, PS_MEDIA_SAMPLES = 1 << 26 };

// Scales a picture to what the projector sees, from any thread. rgb has width * height * 3 bytes;
// null: it is only counted.
int32_t ps_projector_picture(const ps_projector *projector, uint32_t width, uint32_t height, const uint8_t *rgb, ps_media **out,
                             ps_error *err) PS_NOEXCEPT;
// Samples are mono, at the projector's rate.
int32_t ps_projector_sound(const ps_projector *projector, const float *samples, size_t n, ps_media **out, ps_error *err) PS_NOEXCEPT;
void ps_media_free(ps_media *media) PS_NOEXCEPT;

typedef struct ps_media_piece {
    const int32_t *tokens; // null where the piece is embeddings; they live as long as the media
    size_t n;              // tokens or embeddings
    int32_t positions;     // that it takes
    int32_t columns;       // of a grid of embeddings, whose rows and columns are coordinates of their positions; 0: none
    bool whole;            // its embeddings see one another, so that one pass computes them all
} ps_media_piece;

size_t ps_media_size(const ps_media *media) PS_NOEXCEPT;
int32_t ps_media_piece_at(const ps_media *media, size_t index, ps_media_piece *out, ps_error *err) PS_NOEXCEPT;

// Computes the embeddings of a piece. One call at a time. go_on is asked about every layer, with
// their count; where it says no, the call ends with PS_CANCELLED.
int32_t ps_projector_encode(ps_projector *projector, const ps_media *media, size_t index, ps_progress_fn go_on, uintptr_t user,
                            float *out, size_t size, ps_error *err) PS_NOEXCEPT;

// Has a running encode, and later ones, rest from now on, or go on: within an operation, where the
// CPU alone computes. Called from any thread; it returns once the encode rests, or soon.
void ps_projector_pause(ps_projector *projector, bool on) PS_NOEXCEPT;

typedef struct ps_embedding_batch {
    const float *values;   // of the rows from..to of a piece
    size_t from, to;
    size_t piece;          // rows of the whole piece
    int32_t columns;       // as in ps_media_piece
    bool whole;
    int32_t position;      // of the piece's first row
    int32_t sequence;
} ps_embedding_batch;

// Runs one forward pass over embeddings in place of tokens. It gives no output rows.
int32_t ps_decode_embeddings(ps_context *context, const ps_embedding_batch *batch, ps_error *err) PS_NOEXCEPT;
