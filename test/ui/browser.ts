import { type Browser, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../../scripts/docs/chromium.ts';

/** A page of a browser with the errors that it has reported. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of scripts and the console, and requests to other addresses. */
  readonly problems: readonly string[];
}

/** Advice if the tests of the page cannot run. */
export const NO_CHROMIUM = 'There is no Chromium: install it by `apt-get install -y chromium`.';

/** Starts a browser; undefined without Chromium outside of CI. Throws without one in CI. */
export async function startBrowser(): Promise<Browser | undefined> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) {
    if (process.env['CI'] === 'true') throw new Error(NO_CHROMIUM);
    return undefined;
  }
  // No sandbox, since root may not have one; only pages of this repository are opened.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Size and colours of a page. */
export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/** Opens a URL in a context of its own, and waits for rows unless `rows` is false. */
export async function openWatched(
  browser: Browser,
  url: string,
  { width = 1_400, height = 900, colorScheme = 'light' }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // The browser reports each failed request by itself.
    const isNetwork = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isNetwork) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}
