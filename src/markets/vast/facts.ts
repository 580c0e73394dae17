import type { MarketFacts } from '../../market/market.ts';
import { ON_START_LIMIT, packOnStart, startTooLong } from './instances/rent.ts';
import { OFFER_FACTS } from './offers/columns.ts';
import { findOfferField, impossibleValue, unknownFieldMessage } from './offers/offer-fields.ts';

/** Capabilities of Vast.ai. */
export const vastFacts: MarketFacts = {
  name: 'Vast',
  label: { kept: 'observe' },
  hasBids: true,
  hasStop: true,
  hasUtilization: true,
  namesHosts: true,
  script: {
    max: ON_START_LIMIT,
    tooLong: startTooLong,
    pack(text) {
      const packed = packOnStart(text);
      if (packed.type !== 'tooLong') return { type: 'fits', script: packed.script };
      const { type, bytes, packedLength } = packed;
      return { type, bytes, packedLength };
    },
  },
  // The service names no limit: this one protects the memory of the reader.
  containerLog: { maxBytes: 4_194_304 },
  fileCommands: { programs: ['ls', 'rm', 'du'], maxLength: 512 },
  selfEnd: {
    idVariable: 'CONTAINER_ID',
    keyVariable: 'CONTAINER_API_KEY',
    path: (id) => `/api/v0/instances/${id}/`,
    end: { method: 'DELETE', body: '{}' },
    // Documented as the test of this key: a running machine stays as it is.
    probe: { method: 'PUT', body: '{"state":"running"}' },
    stop: { method: 'PUT', body: '{"state":"stopped"}' },
  },
  offerFields: {
    facts: OFFER_FACTS,
    unknown: (name) => (findOfferField(name).type === 'unknown' ? unknownFieldMessage(name) : undefined),
    impossible(name, value) {
      const found = findOfferField(name);
      return found.type === 'known' ? impossibleValue(found.field, value) : undefined;
    },
  },
};
