/** A headless Chromium, spoken to by its DevTools protocol: for tests of the site and for screenshots. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Returns the first Chromium on PATH. */
export function chromiumPath(path = process.env.PATH ?? ''): string | undefined {
  const folders = path.split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) =>
    existsSync(file),
  );
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A page of a browser. */
export interface Page {
  open(url: string): Promise<void>;
  /** Returns the value of an expression in the page; a promise is awaited. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until an expression is true in the page, and fails with the expression after 30 s. */
  until(expression: string): Promise<void>;
  /** Types text into the element that has the focus. */
  type(text: string): Promise<void>;
  /** Writes a PNG of the upper left corner of the page. */
  screenshot(file: string, size: Size): Promise<void>;
  close(): Promise<void>;
}

const PATIENCE_MS = 30_000;

interface Reply {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

interface EvaluationReply {
  readonly result?: { readonly value?: unknown };
  readonly exceptionDetails?: {
    readonly text: string;
    readonly exception?: { readonly description?: string };
  };
}

/** Starts a browser with one empty page of that size. `close` ends it and removes its profile. */
export async function openPage({ width, height }: Size): Promise<Page> {
  const program = chromiumPath();
  if (program === undefined)
    throw new Error('There is no Chromium: install it by `apt-get install -y chromium`.');
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  // No sandbox, since root may not have one; only pages of this repository are opened.
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--hide-scrollbars',
  ];
  const where = [
    `--user-data-dir=${profile}`,
    '--remote-debugging-port=0',
    `--window-size=${width},${height}`,
  ];
  const browser = spawn(program, [...flags, ...where, 'about:blank'], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => {
    browser.once('exit', () => resolve());
    browser.once('error', () => resolve());
  });
  const close = async () => {
    browser.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const page = await connect(await pageAddress(join(profile, 'DevToolsActivePort')));
    return { ...page, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Returns the address of the empty page, the first target of type page: Chromium writes its port into a file of the
 * profile.
 */
async function pageAddress(portFile: string): Promise<string> {
  for (let waited = 0; waited < PATIENCE_MS; waited += 50) {
    const port = existsSync(portFile) ? readFileSync(portFile, 'utf8').split('\n')[0] : '';
    if (port) {
      const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
        readonly type: string;
        readonly webSocketDebuggerUrl: string;
      }[];
      const page = targets.find(({ type }) => type === 'page');
      if (page) return page.webSocketDebuggerUrl;
    }
    await sleep(50);
  }
  throw new Error('Chromium did not start within 30 s.');
}

async function connect(address: string): Promise<Omit<Page, 'close'>> {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error(`${address} does not answer.`)), { once: true });
  });
  const waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.resolve(reply);
  });
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('Chromium ended.'));
  });
  let last = 0;
  const send = async (method: string, params: Record<string, unknown> = {}) => {
    last += 1;
    const id = last;
    const reply = await new Promise<Reply>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, method, params }));
    });
    waiting.delete(id);
    if (reply.error) throw new Error(`${method}: ${reply.error.message}`);
    return reply.result ?? {};
  };
  const evaluate = async (expression: string) => {
    const reply = (await send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as EvaluationReply;
    const failure = reply.exceptionDetails;
    if (failure) throw new Error(failure.exception?.description ?? failure.text);
    return reply.result?.value;
  };
  const until = async (expression: string) => {
    for (let waited = 0; waited < PATIENCE_MS; waited += 50) {
      if ((await evaluate(expression)) === true) return;
      await sleep(50);
    }
    throw new Error(`Not true within 30 s: ${expression}`);
  };
  return {
    evaluate,
    until,
    async open(url) {
      await send('Page.navigate', { url });
      await until(`location.href.startsWith(${JSON.stringify(url)}) && document.readyState === 'complete'`);
    },
    async type(text) {
      await send('Input.insertText', { text });
    },
    async screenshot(file, size) {
      const clip = { x: 0, y: 0, ...size, scale: 1 };
      const how = { format: 'png', clip, captureBeyondViewport: true };
      const { data } = await send('Page.captureScreenshot', how);
      writeFileSync(file, Buffer.from(String(data), 'base64'));
    },
  };
}
