import { parse, parseDocument } from 'yaml';
import * as z from 'zod';
import type { ReleaseSettings } from './settings.ts';

const values = z.looseObject({
  image: z.looseObject({ registry: z.string(), repository: z.string(), digest: z.string() }),
});

/** Values of the operator's chart that name the released image by digest; comments and order stay. */
export function withImage(text: string, settings: ReleaseSettings, digest: string): string {
  const document = parseDocument(text);
  document.setIn(['image', 'registry'], settings.host);
  document.setIn(['image', 'repository'], settings.repository);
  document.setIn(['image', 'digest'], digest);
  return document.toString({ lineWidth: 0 });
}

/** Throws unless a packaged chart names the released image by digest. */
export function requireImage(text: string, settings: ReleaseSettings, digest: string): void {
  const { image } = values.parse(parse(text));
  const named = `${image.registry}/${image.repository}${image.digest === '' ? '' : `@${image.digest}`}`;
  const released = `${settings.image}@${digest}`;
  if (named !== released)
    throw new Error(
      `The packaged chart installs ${named} instead of ${released}: its values were not replaced`,
    );
}
