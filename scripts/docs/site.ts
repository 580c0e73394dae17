/** The documentation site's rules for pages under `docs`: targets of links, and the sidebar. */
import { posix } from 'node:path';

const REPOSITORY_URL = 'https://github.com/gpu-rental-operator/gpu-rental-operator';

/** A group of the sidebar, with a link for each page that the index names under its heading. */
export interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** Returns the anchor that GitHub makes of a heading; links between pages use these. */
export function anchorOf(heading: string): string {
  const plain = heading.replaceAll('`', '').toLowerCase();
  return plain.replaceAll(/[^\p{Letter}\p{Number}\- _]/gu, '').replaceAll(' ', '-');
}

const isOutside = (path: string): boolean => path === '..' || path.startsWith('../');

/**
 * Returns the target of a page's link on the site. The pages are written for GitHub, where a link may leave `docs`,
 * name a folder, or name a README: those become links to GitHub, to the folder's index, and to that index.
 */
export function siteLink(page: string, link: string): string {
  if (/^[a-z]+:|^#|^\//.test(link)) return link;
  const [file = '', ...anchor] = link.split('#');
  const fragment = anchor.length > 0 ? `#${anchor.join('#')}` : '';
  const target = posix.normalize(posix.join(posix.dirname(page), file));
  if (isOutside(target)) return `${REPOSITORY_URL}/blob/main/${target.replace(/^(\.\.\/)+/, '')}${fragment}`;
  const index = target.endsWith('/') ? `${target}README.md` : target;
  return `/${index.replace(/(^|\/)README\.md$/, '$1index.md')}${fragment}`;
}

/** Returns the groups of the sidebar: the headings of the index, and the links under each. */
export function sidebarOf(index: string): readonly SidebarGroup[] {
  const sections = index.split(/^## /m).slice(1);
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')).trim(),
    collapsed: section.startsWith('Internals'),
    items: linksOf(section).map(([text, link]) => ({
      text: capital(text),
      link: siteLink('README.md', link),
    })),
  }));
}

function linksOf(section: string): readonly (readonly [text: string, link: string])[] {
  return [...section.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)].map(([, text = '', link = '']) => [text, link]);
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
