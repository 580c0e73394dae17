import {
  type MarketplaceAccount,
  type MarketplaceAccountStatus,
  marketplaceAccountSpec,
} from '../../src/api/v1alpha1/marketplace-account.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';

/** Returns an account whose deleted objects cost 12.25 dollars in November 2026. */
export function accountObject(
  name: string,
  status: Partial<MarketplaceAccountStatus> = {},
): MarketplaceAccount {
  return {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: { name, namespace: 'team', uid: `uid-${name}`, creationTimestamp: '2026-11-01T00:00:00Z' },
    spec: marketplaceAccountSpec.parse({ apiKeySecretRef: { name: 'key' } }),
    status: {
      deletedObjects: { month: '2026-11', spent: '12.25', rentals: [], machines: [] },
      ...status,
    },
  };
}
