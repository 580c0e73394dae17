import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CLI } from '../../scripts/demo/processes.ts';
import { type Outcome, outcomeSchema } from '../../src/cli/agent/contract.ts';

/** Reply to a call: a result of the server, or the end of its process before an answer. */
export type Reply =
  | { readonly type: 'outcome'; readonly outcome: Outcome }
  | { readonly type: 'unreadable'; readonly why: string }
  | { readonly type: 'killed' };

interface Message {
  readonly id?: number;
  readonly result?: {
    readonly structuredContent?: unknown;
    readonly content?: readonly { readonly type: string; readonly text: string }[];
    readonly isError?: boolean;
  };
  readonly error?: { readonly message: string };
}

interface Starting {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A `gpu-rent mcp` process, which may be killed and started again. */
export class McpProcess {
  readonly #starting: Starting;
  readonly #open = new Map<number, (message: Message | undefined) => void>();
  #child: ChildProcess | undefined;
  #ids = 0;
  /** Last words of the process, for failures. */
  stderr = '';

  constructor(starting: Starting) {
    this.#starting = starting;
  }

  /** Starts the process. Resolves when it has answered the first request. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [CLI, 'mcp', ...this.#starting.args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', HOME: '/does/not/exist', ...this.#starting.env },
    });
    this.#child = child;
    child.stdin.on('error', () => {});
    child.stderr.on('data', (chunk) => {
      this.stderr = `${this.stderr}${chunk}`.slice(-2_000);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      if (message.id === undefined) return;
      this.#open.get(message.id)?.(message);
      this.#open.delete(message.id);
    });
    child.on('exit', () => {
      if (this.#child !== child) return;
      for (const settle of this.#open.values()) settle(undefined);
      this.#open.clear();
    });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'hostile', version: '1' },
    };
    const answer = await this.request('initialize', params);
    if (!answer?.result) throw new Error(`gpu-rent mcp did not start: ${this.stderr}`);
    this.sendRaw(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  }

  /** Writes a line as it is. */
  sendRaw(line: string): void {
    this.#child?.stdin?.write(`${line}\n`);
  }

  /** Sends a request; resolves to undefined if the process ends first. */
  request(method: string, params: unknown): Promise<Message | undefined> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return Promise.resolve(undefined);
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve) => {
      this.#open.set(id, resolve);
      this.sendRaw(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Calls a tool, whatever its name and arguments are. */
  async call(name: unknown, args: unknown): Promise<Reply> {
    const message = await this.request('tools/call', { name, arguments: args });
    return message === undefined ? { type: 'killed' } : replyOf(message);
  }

  /** Kills the process with SIGKILL and starts another; open calls get no answer. */
  async killAndRestart(): Promise<void> {
    const child = this.#child;
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGKILL');
    await ended;
    await this.start();
  }

  /** Ends the input. Resolves to the exit code. */
  async end(): Promise<number | null> {
    const child = this.#child;
    if (!child) return null;
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.stdin?.end();
    return ended;
  }
}

function replyOf({ result, error }: Message): Reply {
  // Names and arguments of other types than the protocol's are refused by the protocol itself.
  if (error) return { type: 'unreadable', why: error.message };
  const parsed = outcomeSchema.safeParse(result?.structuredContent);
  if (!parsed.success) return { type: 'unreadable', why: parsed.error.message };
  const [content] = result?.content ?? [];
  if (content?.text !== JSON.stringify(result?.structuredContent))
    return { type: 'unreadable', why: 'text and structured content differ' };
  if (result?.isError === parsed.data.ok) return { type: 'unreadable', why: 'isError contradicts ok' };
  return { type: 'outcome', outcome: parsed.data };
}
