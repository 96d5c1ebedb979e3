# Of what :devices said last: whether the parts add up to the peak within 5 %, and whether those of
# a training are as large as they must be: weights and gradients in fp32, two moments of each.
/^memory/ { on = 1; sum = 0; delete part }
on && / [kM]B\r?$/ {
    size = $(NF - 1) * ($NF ~ /^k/ ? 0.001 : 1)
    sub(/^ +/, ""); sub(/ +[0-9.]+ +[kM]B\r?$/, "")
    part[$0] = size
    if ($0 != "peak memory") { sum += size; next }
    on = 0; peak = size
}
END {
    off = sum - peak
    adds = off > -0.05 * peak && off < 0.05 * peak
    w = part["training weights"]; g = part["gradients"]; m = part["moments"] - 2 * g
    run = w > 70 && w == g && m <= 2 && m >= -2
    print(adds ? "it adds up" : "it adds to " sum ", not " peak)
    print(run ? "a run in full" : "no run in full")
    print((part["LoRA weights"] > 0) ? "an adapter" : "no adapter")
}
