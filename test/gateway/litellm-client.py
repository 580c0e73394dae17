"""Asks the gateway with LiteLLM, and prints what came of it as one line of JSON."""
import json
import sys

import litellm

base_url = sys.argv[1]


def ask(**more):
    return litellm.completion(
        model="openai/chat",
        api_base=base_url,
        api_key="key",
        messages=[{"role": "user", "content": "hello"}],
        max_tokens=3,
        **more,
    )


whole = ask().choices[0].message.content
streamed = "".join(part.choices[0].delta.content or "" for part in ask(stream=True))
print(json.dumps({"whole": whole, "streamed": streamed}))
