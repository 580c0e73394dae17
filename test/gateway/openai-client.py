"""Asks the gateway with the official client of PyPI, and prints what came of it as one line of JSON."""
import json
import sys
import time

import openai

what, base_url = sys.argv[1:3]
slept = []
messages = [{"role": "user", "content": "hello"}]


def ask(client, **more):
    return client.chat.completions.create(model="chat", messages=messages, max_tokens=3, **more)


if what == "answers":
    client = openai.OpenAI(base_url=base_url, api_key="key")
    whole = ask(client)
    parts = [part.choices[0].delta.content or "" for part in ask(client, stream=True)]
    print(json.dumps({"whole": whole.choices[0].message.content, "streamed": "".join(parts)}))
else:
    # How long it waits before it tries again is what is asked, not the waiting.
    time.sleep = slept.append
    try:
        ask(openai.OpenAI(base_url=base_url, api_key="key", max_retries=1))
    except openai.APIStatusError as error:
        print(
            json.dumps(
                {
                    "type": type(error).__name__,
                    "status": error.status_code,
                    "code": error.code,
                    "message": error.body["message"],
                    "slept": slept,
                }
            )
        )
