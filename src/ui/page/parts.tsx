import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { FleetKind, FleetState, Tone } from '../../views/fleet.ts';
import { visibleLine, visibleText } from '../../views/visible-text.ts';

/** Shapes of states: one for each tone, so that colour is not needed to tell them apart. */
const SHAPES: Readonly<Record<Tone, ComponentChildren>> = {
  good: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  busy: (
    <>
      <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M6 1.75A4.25 4.25 0 0 1 6 10.25Z" fill="currentColor" />
    </>
  ),
  waits: <path d="M6 1 11.5 10.5H.5Z" fill="currentColor" />,
  stuck: <path d="M6 .2 11.8 6 6 11.8.2 6Z" fill="currentColor" />,
  off: <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" />,
};

/** Shows a state by term, shape and colour. */
export function StateBadge({ state }: { readonly state: FleetState }) {
  return (
    <span class={`state tone-${state.tone}`}>
      <svg viewBox="0 0 12 12" width="11" height="11" aria-hidden="true">
        {SHAPES[state.tone]}
      </svg>
      <span class="cut">{visibleLine(state.phase)}</span>
    </span>
  );
}

const KIND_TITLES: Readonly<Record<FleetKind, string>> = {
  gpui: 'GpuInstance',
  epg: 'EndpointGroup',
  gpuacct: 'MarketplaceAccount',
};

/** Shows a kind by its short name. */
export function KindTag({ kind }: { readonly kind: FleetKind }) {
  return (
    <span class={`kind kind-${kind}`} title={KIND_TITLES[kind]}>
      {kind}
    </span>
  );
}

const MAX_TITLE = 300;

/** Shows foreign text on one line, cut to the room that it has, with the rest as a tooltip. */
export function Cut({ text, class: name = '' }: { readonly text: string | undefined; readonly class?: string }) {
  const line = visibleLine(text ?? '');
  return (
    <bdi class={`cut ${name}`} title={line.slice(0, MAX_TITLE)}>
      {line.slice(0, 1_000)}
    </bdi>
  );
}

const MAX_TEXT = 400;

/** Shows foreign text with its line breaks; a long one is shortened until a person wants all of it. */
export function LongText({ text }: { readonly text: string }) {
  const isWhole = useSignal(false);
  const whole = visibleText(text);
  if (whole.length <= MAX_TEXT) return <bdi class="text">{whole}</bdi>;
  return (
    <>
      <bdi class="text">{isWhole.value ? whole : `${whole.slice(0, MAX_TEXT)}…`}</bdi>{' '}
      <button type="button" class="link" onClick={() => (isWhole.value = !isWhole.value)}>
        {isWhole.value ? 'Show less' : `Show all ${whole.length} characters`}
      </button>
    </>
  );
}

/** Shows a command with a button that copies it. */
export function Command({ title, text: given }: { readonly title: string; readonly text: string }) {
  const text = visibleLine(given);
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 1_500);
  };
  return (
    <div class="command">
      <span class="command-title">{title}</span>
      <code>{text}</code>
      <button type="button" class="small" aria-label={`Copy: ${text}`} onClick={copy}>
        {isCopied.value ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
