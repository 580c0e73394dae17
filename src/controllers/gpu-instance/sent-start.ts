import type { Launch } from '../../instance/launch.ts';
import type { ScriptFacts } from '../../market/rental.ts';

/** `onStart` as it is sent, or what is too long with its figure. */
export type SentStart =
  | { readonly type: 'sent'; readonly onStart: string | undefined }
  | { readonly type: 'tooLong'; readonly detail: string };

/**
 * Returns the start of a container in the form that the marketplace accepts: a long script is packed, a program is sent
 * unchanged. `script`: the text of a script from a Secret.
 */
export function sentStart(
  { onStart, args }: Launch,
  script: string | undefined,
  facts: ScriptFacts,
): SentStart {
  const text = onStart && 'text' in onStart ? onStart.text : script;
  const packed = onStart?.type === 'program' || text === undefined ? undefined : facts.pack(text);
  if (packed?.type === 'tooLong') {
    const { bytes, packedLength } = packed;
    const detail = `The start script has ${bytes} bytes and still ${packedLength} when packed; the marketplace takes ${facts.max}.`;
    return { type: 'tooLong', detail };
  }
  const sent = packed?.script ?? text;
  const tooLong = facts.tooLong(sent, args);
  return tooLong === undefined
    ? { type: 'sent', onStart: sent }
    : { type: 'tooLong', detail: `spec.args: ${tooLong}.` };
}
