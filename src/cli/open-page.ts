import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Programs that open a file in the browser, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Returns a document that leads to the URL. Throws for a URL with a character that HTML would read otherwise. */
export function leadTo(url: string): string {
  if (!/^http:\/\/[\w.:/#-]+$/.test(url)) throw new TypeError('The URL cannot be in a document');
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${url}"><title>gpu-rent</title><a href="${url}">Open the page</a>\n`;
}

/**
 * Opens a URL with a token in the browser. The program gets a file that only this user may read: arguments of programs are
 * visible to every user of the machine. Returns a function that removes the file. Without a browser nothing happens.
 */
export function openPage(url: string): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-ui-'));
  const file = join(folder, 'open.html');
  writeFileSync(file, leadTo(url), { mode: 0o600 });
  const [program, ...args] = OPENERS[platform()] ?? ['xdg-open'];
  const child = spawn(program, [...args, file], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}
