/**
 * `npm run record`: runs the story of the playground on a real Kubernetes API and writes what the terminal showed:
 * `docs/media/playground.cast` for asciinema, `playground.svg` for pages, and PNGs if there is a Chromium.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { lookAround } from './demo/look-around.ts';
import { applySample, type Stage, setStage } from './demo/stage.ts';
import { chromiumPath, openPage } from './docs/chromium.ts';
import { asciicast, type Recording, terminalPicture } from './docs/terminal.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const MEDIA = join(REPOSITORY, 'docs', 'media');
const SIZE = { columns: 100, rows: 26 };
/** Between the end of one command and the next, as a person reads. */
const PAUSE_SECONDS = 1.5;

const COMMANDS = [
  'kubectl apply -f deploy/samples/gpu-instance-trainer.yaml',
  'kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
  'kubectl get gpui',
  '# Somewhere a host fails, and the machine is gone:',
  'curl -s -d \'{"name":"destroyed-elsewhere"}\' $CONTROL/faults >/dev/null',
  'kubectl wait gpui/trainer --for=condition=Ready=False --timeout=1m',
  'kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
  'kubectl get gpui trainer -o custom-columns=LOST:.status.history[*].instanceId,WHY:.status.history[*].reason,NOW:.status.instanceId',
  'gpu-rent cost',
  'kubectl delete gpui trainer',
  'gpu-rent orphans',
] as const;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const signal = interruption(say);

async function record(stage: Stage): Promise<Recording> {
  const home = mkdtempSync(join(tmpdir(), 'record-'));
  const exports = [...lookAround(stage.cluster), `export CONTROL=${stage.controlUrl}`].join('\n');
  const events: { seconds: number; text: string }[] = [];
  let seconds = 0;
  try {
    for (const command of COMMANDS) {
      signal.throwIfAborted();
      say(`$ ${command}`);
      events.push({ seconds, text: command.startsWith('#') ? `${command}\n` : `$ ${command}\n` });
      const startedAt = performance.now();
      const { stdout } = await promisify(execFile)('bash', ['-c', `exec 2>&1\n${exports}\n${command}`], {
        cwd: REPOSITORY,
        env: { PATH: process.env['PATH'], HOME: home, NO_COLOR: '1' },
      });
      seconds += (performance.now() - startedAt) / 1000;
      if (stdout !== '') events.push({ seconds, text: stdout });
      seconds += PAUSE_SECONDS;
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  return { ...SIZE, title: 'gpu-rental-operator: rent a machine, lose it, get another', events };
}

/** Places that list charts take no SVG. */
async function takeScreenshots(pictures: Readonly<Record<string, string>>): Promise<void> {
  if (chromiumPath() === undefined) return say('No Chromium here: the PNGs stay as they are.');
  const page = await openPage({ width: 1000, height: 900 });
  try {
    for (const [svg, png] of Object.entries(pictures)) {
      const [, , width, height] =
        /viewBox="(\d+) (\d+) (\d+) (\d+)"/.exec(readFileSync(svg, 'utf8'))?.slice(1) ?? [];
      const body = `<body style="margin:0"><img src="${pathToFileURL(svg).href}" width="${width}" height="${height}">`;
      const html = join(dirname(png), 'screenshot.html');
      writeFileSync(html, body);
      await page.open(pathToFileURL(html).href);
      rmSync(html);
      await page.screenshot(png, { width: Number(width), height: Number(height) });
    }
  } finally {
    await page.close();
  }
}

async function main(): Promise<string> {
  let stage: Stage | undefined;
  try {
    stage = await setStage({ tell: say, signal });
    await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
    const recording = await record(stage);
    const svg = join(MEDIA, 'playground.svg');
    writeFileSync(join(MEDIA, 'playground.cast'), asciicast(recording));
    writeFileSync(svg, terminalPicture(recording));
    await takeScreenshots({
      [svg]: join(MEDIA, 'playground.png'),
      [join(REPOSITORY, 'docs/concepts/autoscaling.svg')]: join(MEDIA, 'autoscaling.png'),
    });
    return 'ok';
  } catch (error) {
    const result = reasonOf(error, signal);
    say(result);
    return result;
  } finally {
    await stage?.dismantle();
  }
}

endWith({ result: await main() });
