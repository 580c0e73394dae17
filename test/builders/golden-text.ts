import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'vitest';

const HEADLINE = '## ';

/** Texts that tests compare with a file, section by section; the file's changes are read like code. */
export interface GoldenText {
  /** Expects the section of that headline to be this text. */
  expect(headline: string, text: string): void;
  /** Expects that the file has a section for each of these headlines and no other. Call it after the sections' tests. */
  expectNoOther(headlines: readonly string[]): void;
}

/**
 * Opens the golden text at `path`, which begins with `title`. `UPDATE_GOLDEN=1` writes the tests' results instead of
 * comparing them.
 */
export function goldenText(
  path: string,
  title = 'What every situation of the tables leads to, in full.',
): GoldenText {
  const updating = process.env['UPDATE_GOLDEN'] === '1';
  const sections = updating ? new Map<string, string>() : sectionsOf(readFileSync(path, 'utf8'));
  return {
    expect(headline, text) {
      if (updating) sections.set(headline, text);
      expect(text, `${path} (UPDATE_GOLDEN=1 rewrites it)`).toBe(sections.get(headline));
    },
    expectNoOther(headlines) {
      if (updating) write(path, title, sections);
      expect([...sections.keys()]).toEqual(headlines);
    },
  };
}

function sectionsOf(text: string): Map<string, string> {
  const parts = text.split(`\n${HEADLINE}`).slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end), part.slice(end + 1).trimEnd()] as const;
    }),
  );
}

function write(path: string, title: string, sections: ReadonlyMap<string, string>): void {
  const body = [...sections].map(([headline, text]) => `\n${HEADLINE}${headline}\n${text}\n`).join('');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${title}\n${body}`);
}
