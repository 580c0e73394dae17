import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { Command } from '../command.ts';
import { objectChangeCommand, patchObject } from '../object-change.ts';

/** Stops every rental and start of an account. */
export const suspendAccount = suspendingCommand({
  verb: 'suspend',
  suspend: true,
  description:
    'Sets spec.suspend: no object can rent or start a machine with the account. Running machines keep running and billing; a lost machine is kept until the account resumes. Objects can be deleted as always. To stop the machines: gpu-rent stop --all -A.',
});

/** Ends the suspension of an account. */
export const resumeAccount = suspendingCommand({
  verb: 'resume',
  suspend: false,
  description:
    'Sets spec.suspend: false. Waiting objects rent and start again, within the limits of the account.',
});

interface Suspending {
  readonly verb: 'suspend' | 'resume';
  readonly suspend: boolean;
  readonly description: string;
}

function suspendingCommand({ verb, suspend, description }: Suspending): Command {
  return objectChangeCommand<MarketplaceAccount>({
    ...{ verb, description },
    kinds: [marketplaceAccountResource],
    isKindNamed: true,
    examples: [`gpu-rent ${verb} account default`, `gpu-rent ${verb} account default -n team`],
    async change(target, means) {
      const isSo = (target.object.spec.suspend ?? false) === suspend;
      if (!isSo) await patchObject(means, target, { spec: { suspend } });
      const state = suspend ? 'suspended' : 'resumed';
      return isSo ? `was ${suspend ? 'suspended' : 'not suspended'} before` : state;
    },
  });
}
