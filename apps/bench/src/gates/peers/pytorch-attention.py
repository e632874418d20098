# PyTorch's attention on the CPU, driven by child-process.ts.
import ctypes
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")


def answer(message):
    print(json.dumps(message), flush=True)


try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as error:
    answer({"absent": f"python3: {error}"})
    sys.exit()

job = json.loads(sys.argv[-1])
work, folder = job["work"], job["folder"]
Hq, Hkv, Sq, Skv, D = (work[name] for name in ("heads", "keyValueHeads", "queries", "keys", "headDim"))
gradients = work.get("gradients", False)
group = Hq // Hkv
torch.set_num_threads(job["threads"])


def read(name, *shape):
    with open(os.path.join(folder, f"{name}.f32"), "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=torch.float32).reshape(shape).clone()


query = read("query", 1, Hq, Sq, D).requires_grad_(gradients)
key = read("key", 1, Hkv, Skv, D).requires_grad_(gradients)
value = read("value", 1, Hkv, Skv, D).requires_grad_(gradients)
outputGradient = read("outputGradient", 1, Hq, Sq, D)


def attend(q, k, v, **options):
    return scaled_dot_product_attention(q, k, v, is_causal=work["causal"], **options)


# A group's query heads beside each other, and views of its keys and values that repeat nothing: [Hkv, group, S, D].
def expanded():
    shown = [x.transpose(0, 1).expand(Hkv, group, Skv, D) for x in (key, value)]
    return attend(query.reshape(Hkv, group, Sq, D), *shown).reshape(1, Hq, Sq, D)


# The query heads of a group as query rows of one head: [1, Hkv, group, D].
def folded():
    return attend(query.reshape(1, Hkv, group, D), key, value).reshape(1, Hq, 1, D)


ops = {"enable_gqa": lambda: attend(query, key, value, enable_gqa=True), "expanded": expanded}
if group == 1:
    ops = {"scaled_dot_product_attention": lambda: attend(query, key, value)}
elif Sq == 1:
    ops["folded"] = folded


def run(op):
    with torch.set_grad_enabled(gradients):
        output = ops[op]()
        if not gradients:
            return [output]
        return torch.autograd.grad(output, (query, key, value), outputGradient)


def numbers(op):
    files = []
    for index, result in enumerate(run(op)):
        files.append(os.path.join(folder, f"result-{index}.f32"))
        with open(files[-1], "wb") as file:
            result = result.detach().contiguous()
            file.write(ctypes.string_at(result.data_ptr(), 4 * result.numel()))
    return {"files": files}


def turn(op):
    start, start_cpu = time.perf_counter(), time.process_time()
    result = run(op)
    elapsed, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    del result
    return {"ms": 1000 * elapsed, "cpuMs": 1000 * cpu}


answer({"version": torch.__version__, "ops": list(ops)})
for line in sys.stdin:
    request = json.loads(line)
    answer(turn(request["turn"]) if "turn" in request else numbers(request["numbers"]))
