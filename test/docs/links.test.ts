import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorOf } from '../../scripts/docs/site.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { codeBlocks, commandsOf } from './code-blocks.ts';

const PAGES = globSync(['*.md', 'docs/**/*.md', 'test/evidence/*.md', 'charts/*/README.md'], {
  cwd: REPOSITORY,
});
const IGNORED = readFileSync(join(REPOSITORY, '.gitignore'), 'utf8').split('\n');

function anchorsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

function brokenLinks(page: string): readonly string[] {
  const path = join(REPOSITORY, page);
  const links = [...readFileSync(path, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
}

/** Paths in the code spans of a page that no file, folder or beginning of a file's name has. */
function missingPaths(page: string): readonly string[] {
  const text = readFileSync(join(REPOSITORY, page), 'utf8');
  const paths = [...text.matchAll(/`((?:bench|charts|crds|deploy|docs|proto|scripts|src|test)\/[\w./-]+)`/g)];
  return paths
    .map(([, path = '']) => path)
    .filter((path) => !/\bthing\b/.test(path) && !IGNORED.includes(path))
    .filter((path) => !existsSync(join(REPOSITORY, path)))
    .filter((path) => globSync(`${path}.*`, { cwd: REPOSITORY }).length === 0);
}

describe.each(PAGES)('%s', (page) => {
  test('names files and folders that exist in its text', () => {
    expect(missingPaths(page)).toEqual([]);
  });

  test('links to what is there', () => {
    expect(brokenLinks(page)).toEqual([]);
  });

  test('names files and make targets that exist in its commands', () => {
    const commands = codeBlocks(page)
      .filter(({ language }) => language === 'sh' || language === 'console')
      .map(commandsOf)
      .join('\n');
    const files = commands.match(/\b(?:deploy|charts|crds)\/[\w./-]+/g) ?? [];
    expect(files.filter((file) => !existsSync(join(REPOSITORY, file)))).toEqual([]);
    const makefile = readFileSync(join(REPOSITORY, 'Makefile'), 'utf8');
    const targets = [...commands.matchAll(/^make ([\w-]+)/gm)].map(([, target = '']) => target);
    expect(targets.filter((target) => !makefile.includes(`\n${target}:`))).toEqual([]);
  });
});
