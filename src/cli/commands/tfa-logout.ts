import { rm } from 'node:fs/promises';
import type { Command } from '../command.ts';
import { failed } from '../failures/command-error.ts';
import { createOutput } from '../output/output.ts';
import { sessionKeyPath } from '../secrets/api-key.ts';

/** Forgets the session of a login with the second factor. */
export const tfaLogout: Command = {
  name: 'tfa logout',
  summary: 'Forget the session of a login with the second factor.',
  examples: ['gpu-rent tfa logout'],
  optionSets: ['output'],
  async run(input, context) {
    const path = sessionKeyPath(context.env);
    await rm(path, { force: true }).catch((error: NodeJS.ErrnoException) => {
      throw failed(
        `The session in ${path} cannot be removed (${error.code}).`,
        'Remove it yourself: commands use it until then.',
        error,
      );
    });
    await createOutput(input, context).value({ removed: path }, `${path} is gone; the ordinary key is used.`);
    return 0;
  },
};
