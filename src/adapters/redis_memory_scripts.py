"""The Lua scripts of the live sessions: each write is one of them, so it happens whole or not at all.

KEYS[1] is the key of the session's messages, from which its other keys are made; KEYS[2] and KEYS[3],
given when the person is known, are the index of their sessions and the note that they were deleted.
Keys are made inside the scripts, so a Redis Cluster cannot run them; one server and its replicas do.

ARGV[1] is the lifetime in seconds, ARGV[2] the time now in microseconds. An item is four arguments:
what it is remembered by, its JSON up to the number of its sequence, its own sequence or 0, and when
it was said in microseconds or nothing.
"""

from __future__ import annotations

from datetime import timedelta

from src.schemas.memory import REMEMBERED_IDS, WINDOW
from src.services.archive_rules import MAX_CLOCK_SKEW

_SKEW = MAX_CLOCK_SKEW // timedelta(microseconds=1)

_COMMON = (
    f"local WINDOW, REMEMBERED, SKEW = {WINDOW}, {REMEMBERED_IDS}, {_SKEW}\n"
    """
local ttl, now = tonumber(ARGV[1]), tonumber(ARGV[2])

local function named(messages)
  return {messages = messages, events = messages .. ':events', meta = messages .. ':meta',
          ids = messages .. ':ids', deleted = messages .. ':deleted'}
end

-- A key of another type must hinder no deletion.
local function ask(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end

-- The sequence stands last in a stored item; 0 for what we did not write.
local function place(item)
  local found = item and string.match(string.sub(item, -32), '"sequence":(%d+)}$')
  return tonumber(found) or 0
end

-- A server short of memory may evict one key of a session and keep the others.
local function counter(of)
  local kept = tonumber(ask('HGET', of.meta, '#sequence'))
  if kept then return kept end
  return math.max(tonumber(ask('HGET', of.deleted, 'sequence')) or 0,
    place(ask('LINDEX', of.messages, -1)), place(ask('LINDEX', of.events, -1)))
end

local function whole(number) return string.format('%.0f', number) end

local function count_to(of, number)
  redis.call('HSET', of.meta, '#sequence', whole(number))
end

local function refresh(of)
  local index = redis.call('HGET', of.meta, '#index')
  if index then
    redis.call('ZADD', index, ARGV[2], of.messages)
    redis.call('ZREMRANGEBYSCORE', index, '-inf', whole(now - ttl * 1000000))
    redis.call('EXPIRE', index, ttl)
  end
  for _, key in pairs(of) do redis.call('EXPIRE', key, ttl) end
end

local function own_by(of, index)
  if index then redis.call('HSET', of.meta, '#index', index) end
end

local function remember(of, member, sequence, said)
  if said and said > (tonumber(redis.call('HGET', of.meta, '#said')) or 0) then
    redis.call('HSET', of.meta, '#said', whole(said))
  end
  if member == '' then return end
  redis.call('ZADD', of.ids, sequence, member)
  redis.call('ZREMRANGEBYRANK', of.ids, 0, -REMEMBERED - 1)
end

local function is_deleted(of, person, said)
  for _, note in ipairs({of.deleted, person}) do
    local at = tonumber(redis.call('HGET', note, 'at'))
    if at and not (said and said > at) then return true end
  end
  return false
end

local function note_deletion(note, at)
  at = math.max(at, tonumber(ask('HGET', note, 'at')) or 0)
  redis.call('HSET', note, 'at', whole(at))
  redis.call('EXPIRE', note, ttl)
end

local function forget(messages)
  local of, number = named(messages), 0
  for _, list in ipairs({of.messages, of.events}) do
    number = number + (tonumber(ask('LLEN', list)) or 0)
  end
  local last, index = counter(of), ask('HGET', of.meta, '#index')
  -- Said by a writer whose clock is ahead, it is deleted all the same.
  local said = tonumber(ask('HGET', of.meta, '#said')) or 0
  local at = math.max(now, math.min(said, now + SKEW))
  if index then redis.call('ZREM', index, messages) end
  redis.call('UNLINK', of.messages, of.events, of.meta, of.ids)
  redis.call('HSET', of.deleted, 'sequence', whole(last))
  note_deletion(of.deleted, at)
  return number, at
end
"""
)

APPEND = (
    _COMMON
    + """
local of, list = named(KEYS[1]), KEYS[1] .. ARGV[3]
local member, json, own, said = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
if is_deleted(of, KEYS[3], said) then return {0, 0} end
local known = member ~= '' and redis.call('ZSCORE', of.ids, member)
if known then
  refresh(of)
  return {tonumber(known), 0}
end
local last = counter(of)
local sequence = own > 0 and own or last + 1
local later = {}
if sequence < last then  -- a replay: what was said after it is put behind it again
  while place(redis.call('LINDEX', list, -1)) > sequence do
    later[#later + 1] = redis.call('RPOP', list)
  end
end
redis.call('RPUSH', list, json .. whole(sequence) .. '}')
for i = #later, 1, -1 do redis.call('RPUSH', list, later[i]) end
redis.call('LTRIM', list, -WINDOW, -1)
remember(of, member, sequence, said)
count_to(of, math.max(last, sequence))
own_by(of, KEYS[2])
refresh(of)
return {sequence, 1}
"""
)
"""ARGV[3] is what follows the key of the messages: nothing, or `:events`; then the item."""

SAVE = (
    _COMMON
    + """
local of = named(KEYS[1])
local last = counter(of)
redis.call('UNLINK', of.messages)
for i = 3, #ARGV, 4 do
  local member, json, own, said = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local sequence = own > 0 and own or last + 1
  last = math.max(last, sequence)
  if not is_deleted(of, KEYS[3], said) then
    redis.call('RPUSH', of.messages, json .. whole(sequence) .. '}')
    remember(of, member, sequence, said)
    own_by(of, KEYS[2])
  end
end
count_to(of, last)
refresh(of)
return 1
"""
)
"""The items, in the order of their sequence."""

PUT_METADATA = (
    _COMMON
    + """
local of = named(KEYS[1])
redis.call('HSET', of.meta, unpack(ARGV, 3))
own_by(of, KEYS[2])
refresh(of)
return 1
"""
)
"""Names and values in turn."""

EXTEND = (
    _COMMON
    + """
refresh(named(KEYS[1]))
return 1
"""
)

DELETE = (
    _COMMON
    + """
local number = forget(KEYS[1])
return number
"""
)

DELETE_ALL = (
    _COMMON
    + """
local number, last = 0, now
for _, messages in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local found, at = forget(messages)
  number, last = number + found, math.max(last, at)
end
redis.call('UNLINK', KEYS[1])
note_deletion(KEYS[2], last)
return number
"""
)
"""KEYS[1] is the index of the person's sessions, KEYS[2] the note that they were deleted."""

READ = (
    f"local WINDOW = {WINDOW}\n"
    """
local items = redis.call('LRANGE', KEYS[1], -WINDOW, -1)
for i, item in ipairs(items) do
  if #item > tonumber(ARGV[1]) then items[i] = '' end
end
return items
"""
)
"""A list, with nothing in place of what is longer than ARGV[1] bytes: it must not reach the caller."""
