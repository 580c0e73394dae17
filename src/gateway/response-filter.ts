import { METADATA, NOTES, UNIT_TOKENS } from './request-notes.ts';

/** Set by the filter: the tokens of request and response, as the worker reported. */
export const TOKENS_KEY = 'tokens';
/**
 * Set by the filter if the worker reported no usage: the number of events in the response, each about one token.
 */
export const EVENTS_KEY = 'events';

/** Bytes of a tail that contain the object `usage`, which comes last. */
const TAIL_BYTES = 16_384;
/** Interval at which the events are reported: an interrupted stream has no end at which to report them. */
const EVENTS_PER_NOTE = 32;

/**
 * Envoy's Lua filter for responses. It sets the headers that the picker noted. For a request that the picker marked it
 * reads the `usage` at the end of a JSON or SSE response and sets it as metadata. Chunks pass unchanged; a tail of 16
 * to 32 KiB is kept. It does not read a compressed response. A key in JSON is never escaped, so no text that a model
 * writes looks like one.
 */
export const RESPONSE_FILTER = `
local function note(handle, key, value)
  handle:streamInfo():dynamicMetadata():set("${METADATA}", key, value)
end

local function count(object, key)
  return tonumber(object:match('"' .. key .. '"%s*:%s*(%d+)'))
end

local function usage(tail)
  local from = nil
  local at = 1
  while true do
    local _, last = tail:find('[{,%s]"usage"%s*:%s*{', at)
    if not last then break end
    from = last
    at = last
  end
  local object = from and tail:match("^%b{}", from)
  if not object then return nil end
  local input = count(object, "prompt_tokens") or count(object, "input_tokens")
  local output = count(object, "completion_tokens") or count(object, "output_tokens")
  return count(object, "total_tokens") or (input and input + (output or 0))
end

function envoy_on_response(handle)
  local marks = handle:streamInfo():dynamicMetadata():get("${METADATA}")
  if not marks then return end
  local headers = handle:headers()
  for name, value in pairs(marks["${NOTES.responseHeaders}"] or {}) do headers:replace(name, value) end
  if marks["${NOTES.unit}"] ~= "${UNIT_TOKENS}" then return end
  local encoding = headers:get("content-encoding")
  if encoding and encoding ~= "identity" then return end
  local streams = (headers:get("content-type") or ""):find("text/event-stream", 1, true) ~= nil

  local before, parts, size = "", {}, 0
  local events, due, edge = 0, ${EVENTS_PER_NOTE}, "\\n"
  for chunk in handle:bodyChunks() do
    local length = chunk:length()
    if length > 0 then
      local text = chunk:getBytes(0, length)
      if streams then
        local seam = edge .. text
        local at = 1
        while true do
          local _, last = seam:find("\\ndata:", at, true)
          if not last then break end
          events = events + 1
          at = last
        end
        edge = seam:sub(-5)
        if events >= due then
          note(handle, "${EVENTS_KEY}", events)
          due = events + ${EVENTS_PER_NOTE}
        end
      end
      if length > ${TAIL_BYTES} then text = text:sub(-${TAIL_BYTES}) end
      parts[#parts + 1] = text
      size = size + #text
      if size >= ${TAIL_BYTES} then
        before, parts, size = table.concat(parts), {}, 0
      end
    end
  end

  local tail = before .. table.concat(parts)
  local tokens = usage(tail)
  if tokens then
    note(handle, "${TOKENS_KEY}", tokens)
  elseif streams then
    if tail:find("\\ndata:%s*%[DONE%]") then events = events - 1 end
    note(handle, "${EVENTS_KEY}", events)
  end
end
`;
