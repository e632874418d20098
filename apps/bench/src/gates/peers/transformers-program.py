# transformers on PyTorch, the file's weights widened to float32, driven by contests/model.ts.
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def answer(message):
    print(json.dumps(message), flush=True)


try:
    import gguf  # noqa: F401, with which it reads the file
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, DynamicCache
except ImportError as error:
    answer({"absent": f"python3: {error}"})
    sys.exit()

job = json.loads(sys.argv[-1])
prompt, tokens = job["prompt"], job["tokens"]
held = len(prompt) - 1
torch.set_num_threads(1)
torch.set_grad_enabled(False)
folder, file = os.path.split(job["path"])
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, torch_dtype=torch.float32).eval()
# The file has no head but the table of tokens, which some versions do not see.
model.get_output_embeddings().weight = model.get_input_embeddings().weight
cache = DynamicCache()
model(torch.tensor([prompt[:held]]), past_key_values=cache)


def generate():
    token, result = prompt[held], []
    for _ in range(tokens):
        token = int(model(torch.tensor([[token]]), past_key_values=cache).logits[0, -1].argmax())
        result.append(token)
    return result


answer({"version": transformers.__version__ + " on PyTorch " + torch.__version__})
for _ in sys.stdin:
    cache.crop(held)
    start, start_cpu = time.perf_counter(), time.process_time()
    result = generate()
    elapsed, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    answer({"ms": 1000 * elapsed, "cpuMs": 1000 * cpu, "tokens": result})
