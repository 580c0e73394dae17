import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { type FeedObject, PAGE_HEADER } from '../../src/ui/protocol.ts';
import { workerObject } from '../builders/group-worker.ts';
import { NO_CHROMIUM, openWatched, type PageOptions, startBrowser, type WatchedPage } from './browser.ts';
import { fleetOfStates } from './fleet-of-states.ts';
import { openDesk, type PageDesk } from './page-desk.ts';

/* The page in a real browser, over objects in memory. */

const browser = await startBrowser();
afterAll(() => browser?.close());

if (browser === undefined) test.skip(NO_CHROMIUM, () => undefined);
else inBrowser(browser);

function inBrowser(chromium: Browser): void {
  const now = Date.now();
  const event = {
    at: new Date(now - 60_000).toISOString(),
    type: 'Normal',
    reason: 'InstanceRented',
    count: 1,
  };
  let desk: PageDesk;
  let opened: WatchedPage | undefined;
  const open = async (query = '', options?: PageOptions): Promise<Page> => {
    opened = await openWatched(chromium, `http://127.0.0.1:${desk.port}/${query}#${desk.token}`, options);
    return opened.page;
  };
  const withRows = async (query = '', options?: PageOptions): Promise<Page> => {
    const page = await open(query, options);
    await page.waitForSelector('.body .line');
    return page;
  };
  const names = (page: Page) =>
    page.$$eval('.body .line .full-name', (all) => all.map(({ textContent }) => textContent));

  afterEach(async () => {
    const { problems = [], page } = opened ?? {};
    opened = undefined;
    await page?.context().close();
    expect(problems).toEqual([]);
  });

  describe('the fleet', () => {
    beforeAll(async () => {
      desk = await openDesk(fleetOfStates(now), {
        detail: (id) => ({ yaml: `kind: ${id}\n`, events: [{ ...event, note: `Event of ${id}` }] }),
      });
    });
    afterAll(() => desk.close());

    test('shows states by term and shape, those that need a person first', async () => {
      const page = await withRows();
      expect((await names(page))[0]).toBe('research/ablation-17');
      expect(await page.textContent('.sums')).toContain('1 needs you');
      expect(await page.$$eval('.body .state svg', (all) => all.length)).toBe(14);
    });

    test('removes the token from the address, and works without it afterwards', async () => {
      const page = await withRows('?filter=vision');
      expect(page.url()).not.toContain(desk.token);
      await page.reload();
      await page.waitForSelector('.body .line');
      expect(await page.inputValue('input')).toBe('vision');
    });

    test('says what to open when the tab has no token, and continues by the printed URL', async () => {
      opened = await openWatched(chromium, `http://127.0.0.1:${desk.port}/`);
      const { page } = opened;
      await page.waitForSelector('text=needs the URL that gpu-rent ui printed');
      await page.goto(desk.url);
      await page.waitForSelector('.body .line');
      expect(page.url()).not.toContain(desk.token);
    });

    test('opens a second tab by the printed URL, and none by the copied address', async () => {
      const page = await withRows();
      const second = await page.context().newPage();
      await second.goto(desk.url);
      await second.waitForSelector('.body .line');
      const copied = await page.context().newPage();
      await copied.goto(page.url());
      await copied.waitForSelector('text=open that URL here');
    });

    test('sends the token to no other port of this machine', async () => {
      const received: string[] = [];
      const other = createServer(({ url, rawHeaders }, response) => {
        received.push(`${url} ${rawHeaders.join(' ')}`);
        response.end('<!doctype html><link rel="icon" href="data:,">');
      });
      const port = await new Promise<number>((resolve) => {
        other.listen(0, '127.0.0.1', () => resolve((other.address() as AddressInfo).port));
      });
      try {
        const page = await withRows();
        const elsewhere = await page.context().newPage();
        await elsewhere.goto(`http://127.0.0.1:${port}/`);
        expect(await elsewhere.evaluate('JSON.stringify({ ...sessionStorage }) + document.cookie')).toBe(
          '{}',
        );
        await elsewhere.evaluate(
          `fetch('http://127.0.0.1:${desk.port}/stream', { credentials: 'include' }).catch(() => 0)`,
        );
        expect(await page.context().cookies()).toEqual([]);
        expect(received).not.toEqual([]);
        expect(received.join('\n')).not.toContain(desk.token);
        expect(received.join('\n')).not.toMatch(/cookie/i);
      } finally {
        other.close();
      }
    });

    test('filters by fields, and keeps filter, order, groups and selection after a reload', async () => {
      const page = await withRows();
      await page.fill('input', 'state:running ns:vision');
      await page.waitForFunction(`document.querySelectorAll('.body .line').length === 2`);
      await page.click('.col-perHour button');
      await page.selectOption('select', 'namespace');
      await page.click('.body .line:has-text("notebook")');
      await page.waitForSelector('.detail');
      await page.reload();
      await page.waitForSelector('.detail h2:has-text("notebook")');
      await page.waitForSelector('.group-head');
      expect(await page.inputValue('input')).toBe('state:running ns:vision');
      expect(await names(page)).toEqual(['vision/trainer', 'vision/notebook']);
      expect(await page.getAttribute('.head .col-perHour', 'aria-sort')).toBe('descending');
    });

    test('offers to clear a filter that matches nothing', async () => {
      const page = await open('?filter=nothing-like-this');
      await page.click('text=Clear the filter');
      await page.waitForSelector('.body .line');
    });

    test('is used by keyboard alone', async () => {
      const page = await withRows();
      await page.keyboard.press('/');
      await page.keyboard.type('vision');
      await page.keyboard.press('Enter');
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      await page.keyboard.press('j');
      const active = await page.getAttribute('.body', 'aria-activedescendant');
      expect(await page.textContent(`#${active} .full-name`)).toBe('vision/trainer');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.detail h2:has-text("trainer")');
      await page.keyboard.press('Escape');
      await page.waitForSelector('.detail', { state: 'detached' });
      await page.keyboard.press('?');
      await page.waitForSelector('[role=dialog]');
      await page.keyboard.press('Escape');
      await page.waitForSelector('[role=dialog]', { state: 'detached' });
    });

    test('shows facts, next steps, commands, conditions, events and manifest of an object', async () => {
      const page = await withRows('?open=gpui/vision/trainer');
      const detail = page.locator('.detail');
      await detail.getByText('Event of gpui/vision/trainer').waitFor();
      for (const text of [
        'maxLifetime ends in',
        'gpu-rent ssh gpui/trainer -n vision',
        'Everything matches the spec.',
      ])
        expect(await detail.textContent()).toContain(text);
      await page.click('summary');
      expect(await page.textContent('pre')).toBe('kind: gpui/vision/trainer\n');
    });

    test.each(['light', 'dark'] as const)('has no finding of axe in %s', async (colorScheme) => {
      for (const [query, width] of [
        ['?group=namespace', 1_400],
        ['?open=gpui/vision/trainer', 1_400],
        ['', 360],
        ['?open=epg/serving/chat', 360],
      ] as const) {
        const page = await withRows(query, { colorScheme, width });
        // By the protocol: the policy of the page refuses a foreign script.
        const findings = await page.evaluate(`${axe.source}; axe.run().then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ').slice(0, 300)))`);
        expect(findings).toEqual([]);
        await page.context().close();
      }
    });

    test.each([360, 768, 1_400, 2_200])(
      'fits into %i pixels without a horizontal scroll bar',
      async (width) => {
        const page = await withRows('', { width });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      },
    );
  });

  describe('open tabs', () => {
    beforeEach(async () => {
      desk = await openDesk([workerObject('first')]);
    });
    afterEach(() => desk.close());
    const setVisibility = (page: Page, state: 'hidden' | 'visible') =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
         document.dispatchEvent(new Event('visibilitychange'));`,
      );

    // A browser has six connections for each address.
    test('that are hidden leave their connections to the seventh', async () => {
      const page = await withRows();
      await setVisibility(page, 'hidden');
      for (let count = 2; count <= 6; count += 1) {
        const tab = await page.context().newPage();
        await tab.goto(desk.url);
        await tab.waitForSelector('.body .line');
        await setVisibility(tab, 'hidden');
      }
      const seventh = await page.context().newPage();
      await seventh.goto(desk.url);
      await seventh.click('.body .line');
      await seventh.waitForSelector('.detail:has-text("No events")');
    });

    test('continue with the present state when they are shown again', async () => {
      const page = await withRows();
      await setVisibility(page, 'hidden');
      await page.waitForSelector('.pulse:has-text("Connecting")');
      expect(await page.isVisible('.banner')).toBe(false);
      desk.change({ objects: [workerObject('second')] });
      await setVisibility(page, 'visible');
      await page.waitForSelector('.full-name:has-text("second")');
      await page.waitForSelector('.pulse:has-text("Live")');
    });

    test('beyond the limit of the process name it, and continue when one is closed', async () => {
      // Held until the end: Node.js cancels the body of a reply that is collected.
      const streams: Response[] = [];
      const headers = { [PAGE_HEADER]: desk.token };
      while (streams.length < 32)
        streams.push(await fetch(`http://127.0.0.1:${desk.port}/stream`, { headers }));
      expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
      const page = await open();
      await page.waitForSelector('.banner:has-text("Too many open pages")');
      await streams[0]?.body?.cancel();
      await page.waitForSelector('.body .line');
      await page.waitForSelector('.banner', { state: 'detached' });
      for (const { body } of streams.slice(1)) await body?.cancel();
    });
  });

  describe('a change', () => {
    beforeEach(async () => {
      desk = await openDesk([workerObject('first')]);
    });
    afterEach(() => desk.close());

    test('shows at once, and a removed object goes', async () => {
      const page = await withRows();
      desk.change({ objects: [workerObject('second')], removed: ['gpui/team/first'] });
      await page.waitForSelector('.full-name:has-text("second")');
      expect(await names(page)).toEqual(['team/second']);
    });

    test('of the connection shows since when the data is old', async () => {
      const page = await withRows();
      desk.status({ connection: { state: 'lost', since: now, message: 'ECONNREFUSED' } });
      await page.waitForSelector('.banner:has-text("The API server does not answer")');
      desk.status({ connection: { state: 'expired', since: now, message: 'Unauthorized' } });
      await page.waitForSelector('.banner:has-text("log in again")');
      desk.status({ connection: { state: 'live' } });
      await page.waitForSelector('.banner', { state: 'detached' });
    });

    test('of the process shows that it does not answer', async () => {
      const page = await withRows();
      await desk.close();
      await page.waitForSelector('.banner:has-text("gpu-rent ui does not answer")');
      expect(await names(page)).toEqual(['team/first']);
    });

    test('of a right names kind and verb, and the other kinds stay', async () => {
      const page = await withRows();
      const ready = { state: 'ready' } as const;
      desk.status({ kinds: { gpui: ready, epg: { state: 'forbidden', verb: 'list' }, gpuacct: ready } });
      await page.waitForSelector('.note:has-text("You may not list endpointgroups in all namespaces")');
      expect(await names(page)).toEqual(['team/first']);
    });
  });

  test('an empty namespace says how to rent a machine', async () => {
    desk = await openDesk([], { status: { namespace: 'ml' } });
    const page = await open();
    await page.waitForSelector('text=No objects in namespace ml.');
    await page.context().close();
    await desk.close();
  });

  test('texts of tenants and of the marketplace run no script, and do not disturb the layout', async () => {
    const script = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
    const hostile = `${script}\u202e\u0000\u001b[31m${'x'.repeat(10_000)}`;
    const condition = { type: 'Ready', status: 'False', reason: hostile, message: hostile } as const;
    const object = {
      ...workerObject('hostile', {
        status: {
          ...{ phase: hostile as 'Running', instanceId: '1', endpoint: hostile, actualStatus: hostile },
          gpu: { name: hostile, count: 1 },
          conditions: [{ ...condition, lastTransitionTime: hostile, observedGeneration: 1 }],
          cost: { pricePerHour: hostile, accrued: hostile, since: hostile },
          ssh: { host: hostile, port: 1 },
        },
        metadata: {
          name: hostile,
          namespace: hostile,
          labels: { [hostile]: hostile },
          creationTimestamp: hostile,
        },
      }),
      spec: { ...workerObject('w').spec, image: hostile, accountRef: { name: hostile } },
    } as GpuInstance;
    desk = await openDesk([object as FeedObject, workerObject('calm')], {
      detail: () => ({ yaml: hostile, events: [{ ...event, note: hostile, reason: hostile }] }),
    });
    const page = await withRows();
    await page.click('.body .line:has-text("hacked")');
    await page.waitForSelector('.detail');
    await page.click('summary');
    await page.selectOption('select', { index: 6 });
    await page.waitForSelector('.group-head');
    expect(await page.evaluate("'hacked' in window")).toBe(false);
    expect(await page.$$eval('img, #app script', (all) => all.length)).toBe(0);
    expect(await page.evaluate(`document.body.textContent.includes('\\u202e')`)).toBe(false);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(1_400);
    await page.waitForSelector('.full-name:has-text("calm")');
    await page.context().close();
    await desk.close();
  });

  test('2,000 objects are shown, sorted and filtered within moments', async () => {
    const many = Array.from({ length: 2_000 }, (_, at) =>
      workerObject(`worker-${String(at).padStart(4, '0')}`),
    );
    desk = await openDesk(many);
    const page = await withRows('?sort=name.asc');
    expect(await page.getAttribute('[role=grid]', 'aria-rowcount')).toBe('2001');
    expect(await page.$$eval('.body .line', (all) => all.length)).toBeLessThan(80);
    const began = Date.now();
    await page.click('.col-name button');
    await page.waitForSelector('.full-name:has-text("worker-1999")');
    await page.fill('input', 'worker-0042');
    await page.waitForFunction(`document.querySelectorAll('.body .line').length === 1`);
    expect(Date.now() - began).toBeLessThan(5_000);
    await page.fill('input', '');
    await page.focus('.body');
    await page.keyboard.press('End');
    await page.waitForSelector('.at-cursor .full-name:has-text("worker-0000")');
    await page.context().close();
    await desk.close();
  });
}
