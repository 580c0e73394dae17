import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sidebarOf, siteLink } from '../../scripts/docs/site.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const read = (page: string): string => readFileSync(join(REPOSITORY, 'docs', page), 'utf8');
const PAGES = globSync('**/*.md', { cwd: join(REPOSITORY, 'docs') });

describe('a link of the site', () => {
  test.for([
    ['how-to/gitops.md', 'install.md#uninstall', '/how-to/install.md#uninstall'],
    ['how-to/gitops.md', '../reference/README.md', '/reference/index.md'],
    ['README.md', 'runbooks/', '/runbooks/index.md'],
    ['how-to/gitops.md', '../README.md', '/index.md'],
    ['how-to/gitops.md', '#flux', '#flux'],
    ['how-to/gitops.md', 'https://fluxcd.io', 'https://fluxcd.io'],
    [
      'how-to/gitops.md',
      '../../deploy/gitops',
      'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/deploy/gitops',
    ],
  ] as const)('of %s to %s leads to %s', ([page, link, expected]) => {
    expect(siteLink(page, link)).toBe(expected);
  });
});

test('the sidebar has a group for each heading of the index, and its links', () => {
  expect(
    sidebarOf('# Docs\n\n## Tutorials\n\n- [your first](tutorials/a.md): text\n\n## Internals\n'),
  ).toEqual([
    { text: 'Tutorials', collapsed: false, items: [{ text: 'Your first', link: '/tutorials/a.md' }] },
    { text: 'Internals', collapsed: true, items: [] },
  ]);
});

test('every page is named by the index or by a README of its folder', () => {
  const named = PAGES.filter((page) => page.endsWith('README.md')).flatMap((index) =>
    [...read(index).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) =>
      posix.normalize(posix.join(posix.dirname(index), link)),
    ),
  );
  expect(PAGES.filter((page) => page !== 'README.md' && !named.includes(page))).toEqual([]);
});

test('the README shows a command and a picture within its first screen', () => {
  const screen = readFileSync(join(REPOSITORY, 'README.md'), 'utf8').split('\n').slice(0, 12).join('\n');
  expect(screen).toMatch(/^\$ make \w+$/m);
  expect(screen).toMatch(/^!\[.+\]\(docs\/media\/\S+\.svg\)$/m);
});

test('what users read has at most 53,400 words, besides reference and internals', () => {
  const own = PAGES.filter((page) => !/^(reference|internals)\//.test(page));
  const words = own.reduce((sum, page) => sum + read(page).split(/\s+/).filter(Boolean).length, 0);
  expect(own.length).toBeGreaterThan(30);
  expect(words).toBeLessThanOrEqual(53_400);
});

describe('the page of the evidence', () => {
  const page = read('internals/evidence.md');

  test('has at most 900 words', () => {
    expect(page.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(900);
  });

  test('links to every page of test/evidence', () => {
    const results = globSync('test/evidence/*.md', { cwd: REPOSITORY });
    expect(results.length).toBeGreaterThan(4);
    expect(results.filter((path) => !page.includes(`(../../${path}`))).toEqual([]);
  });
});
