/** The documentation site: `make docs` builds it, and fails if a link leads nowhere. */
import { readFileSync } from 'node:fs';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { anchorOf, sidebarOf, siteLink } from '../../scripts/docs/site.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const icon = readFileSync(new URL('../icon.svg', import.meta.url), 'utf8');
const HOME = 'https://github.com/gpu-rental-operator/gpu-rental-operator';
const sidebar = sidebarOf(readFileSync(new URL('../README.md', import.meta.url), 'utf8'));

/** As much of a Markdown token as the links need. */
interface Token {
  readonly type: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface State {
  src: string;
  readonly tokens: readonly Token[];
  readonly env: { readonly relativePath?: string };
}

type Fence = (
  tokens: readonly { readonly info: string; readonly content: string }[],
  at: number,
  ...more: unknown[]
) => string;

interface Markdown {
  readonly renderer: { readonly rules: { fence?: Fence } };
  readonly core: {
    readonly ruler: {
      before(next: string, name: string, rule: (state: State) => void): void;
      push(name: string, rule: (state: State) => void): void;
    };
  };
}

/** Diagrams are drawn while the site is built: they need no script, and no program beside the browser. */
function drawDiagrams({ renderer: { rules } }: Markdown): void {
  const { fence } = rules;
  rules.fence = (tokens, at, ...more) => {
    const { info = '', content = '' } = tokens[at] ?? {};
    if (info.trim() !== 'mermaid') return fence?.(tokens, at, ...more) ?? '';
    // Fonts of a stranger's server are not asked for.
    const svg = renderMermaidSVG(content, COLOURS).replace(/@import url\([^)]*\);/g, '');
    const text = encodeURIComponent(svg).replaceAll("'", '%27');
    return `<div class="diagram" v-html="decodeURIComponent('${text}')"></div>`;
  };
}

/** Those of the page, light or dark. */
const COLOURS = { bg: 'var(--vp-c-bg)', fg: 'var(--vp-c-text-1)', transparent: true } as const;

/** HTML is text on the site, so that `<name>` in a sentence needs no escape; comments are left out. */
function dropComments({ core }: Markdown): void {
  core.ruler.before('normalize', 'drop-comments', (state) => {
    state.src = state.src.replace(/<!--[\s\S]*?-->/g, '');
  });
}

/** The site names a README an index; links are resolved against the file's own name in its folder. */
function leadLinks({ core }: Markdown): void {
  core.ruler.push('site-links', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' ? token.attrGet('href') : null;
      if (link !== null) token.attrSet('href', siteLink(env.relativePath ?? '', link));
    }
  });
}

export default {
  title: 'gpu-rental-operator',
  description: 'Rented GPU machines as ordinary Kubernetes objects',
  // A site of one version lives below its own path, such as /v0.1/: docs/internals/releasing.md.
  base: process.env['DOCS_BASE'] ?? '/',
  outDir: '../dist/docs',
  cacheDir: '../node_modules/.cache/vitepress',
  rewrites: {
    'README.md': 'index.md',
    'reference/README.md': 'reference/index.md',
    'runbooks/README.md': 'runbooks/index.md',
    'internals/decisions/README.md': 'internals/decisions/index.md',
  },
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    html: false,
    anchor: { slugify: anchorOf },
    config(markdown: Markdown) {
      dropComments(markdown);
      leadLinks(markdown);
      drawDiagrams(markdown);
    },
  },
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar,
    nav: [
      ...sidebar
        .filter(({ items }) => items.length > 0)
        .map(({ text, items }) => ({ text, link: items[0]?.link ?? '/' })),
      {
        text: `v${version}`,
        items: [
          { text: 'Changes', link: `${HOME}/blob/main/CHANGELOG.md` },
          { text: 'Support and upgrades', link: '/reference/support.html' },
          { text: 'Other versions', link: `${HOME}/releases` },
        ],
      },
    ],
    socialLinks: [{ icon: 'github', link: HOME }],
    editLink: { pattern: `${HOME}/edit/main/docs/:path` },
  },
};
