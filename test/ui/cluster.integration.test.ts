import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { API_VERSION, endpointGroupResource, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { commandLine } from '../cli/command-line.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { installDefinitions } from '../crds/install.ts';
import { NO_CHROMIUM, openWatched, startBrowser } from './browser.ts';

/* `gpu-rent ui` against an API server of its own, which the tests stop. */

const browser = await startBrowser();
afterAll(() => browser?.close());

let cluster: Cluster;
let namespace: string;
beforeAll(async () => {
  cluster = await startCluster();
  await installDefinitions(cluster.admin);
  namespace = await cluster.createNamespace('page');
  await apply('trainer');
});
afterAll(() => cluster.stop());

const manifest = (name: string) => ({
  ...{ apiVersion: API_VERSION, kind: 'GpuInstance', metadata: { namespace, name } },
  spec: {
    image: 'example/image:1',
    offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }],
    env: [{ name: 'TOKEN', value: 'canary-5521' }],
  },
});

function apply(name: string): Promise<string> {
  return cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(manifest(name)) });
}

/** Runs `gpu-rent ui` until `use` is done; Ctrl-C then ends it with exit code 0. */
async function withPage(
  { args = [], kubeconfigPath = cluster.kubeconfigPath }: { args?: string[]; kubeconfigPath?: string },
  use: (url: string) => Promise<void>,
): Promise<void> {
  const cli = commandLine({ KUBECONFIG: kubeconfigPath });
  const terminal = cli.atTerminal(['ui', '--no-open', '-n', namespace, ...args]);
  await terminal.until('Ctrl-C ends it');
  const [url = ''] = /http:\S+/.exec(terminal.shown()) ?? [];
  try {
    await use(url);
  } finally {
    terminal.interrupt();
    expect(await terminal.ended).toBe(0);
    cli.leave();
  }
}

if (browser === undefined) test.skip(NO_CHROMIUM, () => undefined);
else inBrowser(browser);

function inBrowser(chromium: Browser): void {
  describe('gpu-rent ui', () => {
    test('shows objects of the cluster, and a new one without a reload', async () => {
      await withPage({}, async (url) => {
        const { page, problems } = await openWatched(chromium, url);
        await page.waitForSelector('.full-name:has-text("trainer")');
        await apply('second');
        await page.waitForSelector('.full-name:has-text("second")');
        await page.click('.body .line:has-text("trainer")');
        await page.waitForSelector('.detail:has-text("No events")');
        await page.click('summary');
        await page.waitForSelector('pre:has-text("image: example/image:1")');
        expect(await page.content()).not.toContain('canary-5521');
        expect(problems).toEqual([]);
      });
    });

    test('runs twice at once', async () => {
      await withPage({}, async (first) => {
        await withPage({}, async (second) => {
          expect(new URL(first).port).not.toBe(new URL(second).port);
          for (const url of [first, second]) {
            const { page } = await openWatched(chromium, url);
            await page.waitForSelector('.full-name:has-text("trainer")');
          }
        });
      });
    });

    test('shows the kinds that the caller may see, and names the missing verb of others', async () => {
      const { group, plural } = gpuInstanceResource;
      await cluster.kubectl([
        'create',
        'role',
        'sees',
        '--verb=get,list,watch',
        `--resource=${plural}.${group}`,
        '-n',
        namespace,
      ]);
      await cluster.kubectl(['create', 'rolebinding', 'sees', '--role=sees', '--user=ada', '-n', namespace]);
      const { kubeconfigPath } = await cluster.kubeconfigFor({ user: 'ada' });
      await withPage({ kubeconfigPath }, async (url) => {
        const { page } = await openWatched(chromium, url);
        await page.waitForSelector('.full-name:has-text("trainer")');
        await page.waitForSelector(`.note:has-text("You may not list ${endpointGroupResource.plural}")`);
      });
    });

    test('says that a login has expired, and continues with a new token', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-page-'));
      const [kubeconfigPath, tokenFile] = [join(folder, 'kubeconfig'), join(folder, 'token')];
      const config = parse(readFileSync(cluster.kubeconfigPath, 'utf8'));
      const [{ user }] = config.users;
      const { token } = user;
      config.users[0].user = { tokenFile };
      writeFileSync(kubeconfigPath, stringify(config));
      writeFileSync(tokenFile, 'expired');
      await withPage({ kubeconfigPath }, async (url) => {
        const { page } = await openWatched(chromium, url);
        await page.waitForSelector('.banner:has-text("The cluster refuses your login")');
        writeFileSync(tokenFile, token);
        await page.waitForSelector('.full-name:has-text("trainer")', { timeout: 90_000 });
        await page.waitForSelector('.banner', { state: 'detached' });
      });
      rmSync(folder, { recursive: true });
    });

    test('says since when its data is old while the API server is away, and continues', async ({ skip }) => {
      const { apiServer } = cluster;
      if (!apiServer) return skip('this API server cannot be taken away');
      await withPage({}, async (url) => {
        const { page } = await openWatched(chromium, url);
        await page.waitForSelector('.full-name:has-text("trainer")');
        await apiServer.stop();
        await page.waitForSelector('.banner:has-text("Data from")');
        expect(await page.textContent('.full-name >> nth=0')).toContain('/');
        await apiServer.start();
        await apply('third');
        await page.waitForSelector('.full-name:has-text("third")', { timeout: 90_000 });
        await page.waitForSelector('.banner', { state: 'detached', timeout: 90_000 });
      });
    });
  });
}
