import type { Secret } from '../../lib/secret.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import { backupCodesReply, toSecrets } from '../wire/tfa.ts';
import { sendTfa } from './call.ts';
import { type BearerVerification, toWireVerification } from './verification.ts';

/** Replaces all backup codes by ten new ones, which are shown this once. */
export async function regenerateBackupCodes(
  requester: Requester,
  verification: BearerVerification,
  bounds: CallOptions | undefined,
): Promise<readonly Secret[]> {
  const { value } = await sendTfa(requester, {
    operation: 'regenerate backup codes',
    method: 'PUT',
    path: 'regen-backup-codes/',
    body: toWireVerification(verification),
    reply: backupCodesReply,
    bounds,
  });
  return toSecrets(value.backup_codes);
}
