/**
 * `npm run record`: runs the story of the playground on a real Kubernetes API and writes what the terminal showed:
 * `docs/media/playground.cast` for asciinema, `playground.svg` for pages, and PNGs if there is a Chromium.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { applySample, type Stage, setStage } from './demo/stage.ts';
import { chromiumPath, openPage } from './docs/chromium.ts';
import { recordPlayground } from './docs/playground-recording.ts';
import { asciicast, terminalPicture } from './docs/terminal.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const MEDIA = join(REPOSITORY, 'docs', 'media');

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const signal = interruption(say);

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
    const recording = await recordPlayground(stage, { say, signal });
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
