import { errorReply } from './openai-error.ts';
import { METADATA, NOTES } from './request-notes.ts';

/** Reply to a request whose picker ended or cannot be reached. */
const { status, headers, body } = errorReply({
  status: 503,
  code: 'picker_lost',
  message: 'The gateway lost its picker before it chose a worker; try again.',
  retryAfterSeconds: 1,
});

/** Text and numbers in JSON are valid in Lua. */
const fields = Object.entries({ ':status': String(status), ...headers })
  .map(([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  .join(', ');

/**
 * Envoy's Lua filter for requests: it refuses a request without a worker from the picker. Otherwise Envoy would send
 * such a request to any worker of the group as soon as the stream to the picker breaks.
 */
export const REQUEST_FILTER = `
function envoy_on_request(handle)
  local marks = handle:streamInfo():dynamicMetadata():get("${METADATA}")
  if marks and marks["${NOTES.id}"] then return end
  handle:respond({ ${fields} }, ${JSON.stringify(body)})
end
`;
