/**
 * Grammar of image references that a registry can serve (distribution/distribution:reference/regexp.go), as RE2
 * regular expressions, so that the CRDs, the operator and the command line use the same rules. PURE.
 */

import type { TextForm } from './schema.ts';

const COMPONENT = '[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?';
/** A registry has a dot or a port in its name; any other text is the beginning of a path on Docker Hub. */
const HOST = `((localhost|${COMPONENT}([.]${COMPONENT})+)(:[0-9]{1,5})?|${COMPONENT}:[0-9]{1,5})`;
const PATH = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';
const TAG = '[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127}';
const DIGEST = '(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})';
/** Tag that the marketplace resolves to the one for the machine's driver. */
const AUTOMATIC_TAG = ':?@vastai-automatic-tag';
/** Maximum length of a path in registries. */
const MAX_PATH = 255;

export const MAX_IMAGE_LENGTH = 512;

/** Forms of a reference; each assumes the previous ones. */
export const IMAGE_FORMS: readonly TextForm[] = [
  {
    pattern: '^([^:]|:[^/]|:/[^/])*:?/?$',
    write: 'write the image without a scheme: registry.example/team/image:tag',
  },
  {
    pattern: '^[-a-zA-Z0-9._/:@]+$',
    write: 'write an image reference such as registry.example/team/image:tag, without spaces or scheme',
  },
  {
    pattern: `^(${HOST}/)?[^A-Z:@]*([:@].*)?$`,
    write: 'write the path of the image in lower case: ghcr.io/acme/server:tag',
  },
  {
    pattern: `^(${HOST}/)?${PATH}(/${PATH})*([:@].*)?$`,
    write:
      'write the path of the image as names between single slashes, each beginning and ending with a letter or digit',
  },
  {
    pattern: `^(${HOST}/)?[^:@]{1,${MAX_PATH}}([:@].*)?$`,
    write: `write a path of at most ${MAX_PATH} characters: no registry has longer ones`,
  },
  {
    pattern: `^(${HOST}/)?[^:@]+((:${TAG})?(@${DIGEST})?|${AUTOMATIC_TAG})$`,
    write:
      'complete the tag or digest: image:tag (at most 128 characters) or image@sha256: and 64 hexadecimal digits',
  },
];

const EXPRESSIONS = IMAGE_FORMS.map(({ pattern, write }) => ({ expression: new RegExp(pattern), write }));

/** Returns the correction of a reference that no registry can serve; undefined for a valid one. */
export function imageProblem(image: string): string | undefined {
  if (image === '' || image.length > MAX_IMAGE_LENGTH)
    return `write an image reference of 1 to ${MAX_IMAGE_LENGTH} characters`;
  return EXPRESSIONS.find(({ expression }) => !expression.test(image))?.write;
}
