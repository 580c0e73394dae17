import { readFileSync, writeFileSync } from 'node:fs';
import { pictureOf } from '../../src/replay/chart.ts';
import type { Outcome } from '../../src/views/replay.ts';

const PAGE = new URL('../../docs/concepts/autoscaling.md', import.meta.url);
const PICTURE = new URL('../../docs/concepts/autoscaling.svg', import.meta.url);
const TABLE = /(<!-- compared -->\n)[\s\S]*?(<!-- \/compared -->)/;

/** Returns the page with this table between its two marks. */
export function pageWith(table: string, page = readFileSync(PAGE, 'utf8')): string {
  return page.replace(TABLE, (_all, begin: string, end: string) => `${begin}\n${table}\n${end}`);
}

/** Returns the picture of the page. */
export function pictureOfDay(outcome: Outcome): string {
  return pictureOf(outcome, 'one day of an EndpointGroup with the default options');
}

export const readPage = (): string => readFileSync(PAGE, 'utf8');
export const readPicture = (): string => readFileSync(PICTURE, 'utf8');

export function writePage(table: string, picture: string): void {
  writeFileSync(PAGE, pageWith(table));
  writeFileSync(PICTURE, picture);
}
