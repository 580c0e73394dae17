import { Secret } from '../../lib/secret.ts';
import { MarketplaceError } from '../errors/errors.ts';
import { pathId, sendChange } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import { rentReply, toWireRent } from '../wire/rent.ts';
import type { InstancesResource } from './instances.ts';

/** Most offers of one bulk rent. */
const BULK_LIMIT = 64;

/** Renting over one requester (specification 4.5). */
export function createRentals(requester: Requester): Pick<InstancesResource, 'rent' | 'rentMany'> {
  return {
    async rent(offerId, request, options) {
      const { value, answeredAt } = await requester.send({
        operation: 'rent an offer',
        endpointClass: 'rent',
        area: 'rent',
        effect: 'write',
        method: 'PUT',
        path: `/api/v0/asks/${pathId(offerId)}/`,
        body: toWireRent(request),
        reply: rentReply,
        bounds: options,
      });
      const key = value.instance_api_key;
      return {
        instanceId: value.new_contract,
        instanceApiKey: key ? new Secret(key) : undefined,
        answeredAt,
      };
    },

    rentMany(offerIds, request, options) {
      if (offerIds.length === 0 || offerIds.length > BULK_LIMIT)
        return Promise.reject(wrongNumber(offerIds.length));
      return sendChange(requester, {
        operation: 'rent many offers',
        endpointClass: 'rent',
        area: 'rent',
        method: 'POST',
        path: '/api/v0/asks/bulk/',
        body: { ...toWireRent(request), ids: [...offerIds] },
        bounds: options,
      });
    },
  };
}

function wrongNumber(count: number): MarketplaceError {
  return new MarketplaceError(`rent many offers: give 1 to ${BULK_LIMIT} offer ids, not ${count}`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}
