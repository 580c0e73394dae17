/**
 * A process with many workers: each answers chat completions as fast as Node can, or after as many milliseconds as the
 * request has `max_tokens`; as one JSON, or as a stream of 20 events. A worker does a bounded number at a time, and lets
 * others wait. It says what vLLM says of itself at /metrics. Each one listens at an address of its own on one shared port,
 * which is what pools of Pods need, and at 127.0.0.1 on a port of its own, which is what simulated machines have.
 *
 * `backend-server.ts WORKERS AT_A_TIME`
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Backend } from './backends.ts';

const EVENTS = 20;
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Fast.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
});
const EVENT = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'bench',
  choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }],
})}\n\n`;
const MODELS = JSON.stringify({
  object: 'list',
  data: [{ id: 'bench', object: 'model', owned_by: 'bench' }],
});

const [workers = 0, atATime = 0] = process.argv.slice(2).map(Number);

class Worker {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  readonly answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method === 'GET') {
      response.end(request.url === '/metrics' ? this.#metrics() : request.url === '/health' ? '' : MODELS);
      return;
    }
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      const { max_tokens: tokens = 1, stream } = JSON.parse(text) as {
        readonly max_tokens?: number;
        readonly stream?: boolean;
      };
      this.#begin(() => (stream ? this.#stream(response, tokens) : this.#reply(response, tokens)));
    });
  };

  #begin(run: () => void): void {
    if (this.#running >= atATime) {
      this.#waiting.push(run);
      return;
    }
    this.#running += 1;
    run();
  }

  #end(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }

  #reply(response: ServerResponse, tokens: number): void {
    after(tokens <= 1 ? 0 : tokens, () => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
        .end(ANSWER);
      this.#end();
    });
  }

  #stream(response: ServerResponse, tokens: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let left = EVENTS;
    const next = (): void => {
      if (left === 0 || response.destroyed) {
        response.end('data: [DONE]\n\n');
        this.#end();
        return;
      }
      left -= 1;
      response.write(EVENT);
      after(tokens <= 1 ? 0 : tokens / EVENTS, next);
    };
    next();
  }

  #metrics(): string {
    const labels = '{engine="0",model_name="bench"}';
    return [
      '# TYPE vllm:num_requests_waiting gauge',
      `vllm:num_requests_waiting${labels} ${this.#waiting.length}`,
      '# TYPE vllm:num_requests_running gauge',
      `vllm:num_requests_running${labels} ${this.#running}`,
      '# TYPE vllm:kv_cache_usage_perc gauge',
      `vllm:kv_cache_usage_perc${labels} ${this.#running / (2 * atATime)}`,
      '# TYPE vllm:cache_config_info gauge',
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="10000"} 1',
      '',
    ].join('\n');
  }
}

/** Runs a function later, also for 0 ms, so that each event is a separate write. */
function after(ms: number, run: () => void): void {
  if (ms === 0) setImmediate(run);
  else setTimeout(run, ms);
}

async function serve(): Promise<Backend[]> {
  const backends: Backend[] = [];
  let sharedPort = 0;
  for (let at = 0; at < workers; at += 1) {
    const { answer } = new Worker();
    const address = `127.0.1.${at + 1}`;
    sharedPort = await listen(answer, address, sharedPort);
    backends.push({
      name: `worker-${at}`,
      address,
      sharedPort,
      ownPort: await listen(answer, '127.0.0.1', 0),
    });
  }
  return backends;
}

function listen(answer: Worker['answer'], host: string, port: number): Promise<number> {
  const server = createServer({ keepAliveTimeout: 0 }, answer);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 8192 }, () => resolve((server.address() as AddressInfo).port));
  });
}

process.on('disconnect', () => process.exit());
process.send?.(await serve());
