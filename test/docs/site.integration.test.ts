import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { openPage, type Page } from '../../scripts/docs/chromium.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { chromiumProblem } from '../tools/chromium.ts';

const SITE = join(REPOSITORY, 'dist/docs');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

const problem = await chromiumProblem();
if (problem !== undefined)
  process.stderr.write(`The test of the documentation site is skipped. ${problem}\n`);

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://site');
  const file = join(SITE, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
  readFile(file).then(
    (content) => response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain').end(content),
    () => response.writeHead(404).end(),
  );
});
let page: Page | undefined;

afterAll(async () => {
  await page?.close();
  server.close();
});

test('builds without a dead link', async () => {
  await promisify(execFile)('npm', ['run', '--silent', 'docs'], { cwd: REPOSITORY });
  const index = await readFile(join(SITE, 'index.html'), 'utf8');
  expect(index.includes('<title>Documentation | gpu-rental-operator</title>')).toBe(true);
});

test.skipIf(problem !== undefined)('opens in a browser, finds a word, and leads to its section', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  page = await openPage({ width: 1280, height: 900 });
  await page.open(home);
  await page.until(`document.querySelector('h1')?.textContent.startsWith('Documentation') === true`);
  await page.until(`document.querySelector('#app')?.__vue_app__ !== undefined`);
  await page.evaluate(`document.querySelector('.DocSearch-Button').click()`);
  await page.until(`document.activeElement?.matches('.search-input') === true`);
  await page.type('OrphansHeld');
  const result = `[...document.querySelectorAll('.results a')].find((link) => link.hash === '#orphansheld')`;
  await page.until(`${result} !== undefined`);
  await page.evaluate(`${result}.click()`);
  await page.until(
    `location.pathname === '/reference/reasons-marketplaceaccount.html' && location.hash === '#orphansheld'`,
  );
  await page.until(`document.querySelector('#orphansheld')?.tagName === 'H2'`);
});

test.skipIf(problem !== undefined)('shows a diagram as a picture', async () => {
  await page?.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/concepts/states.html`);
  await page?.until(`document.querySelector('.diagram svg')?.getBoundingClientRect().width > 300`);
  await page?.until(`document.querySelector('.diagram svg').textContent.includes('RentalPending')`);
  await page?.until(`document.querySelector('pre.mermaid, .language-mermaid') === null`);
});
