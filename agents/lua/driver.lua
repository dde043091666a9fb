-- SPDX-License-Identifier: Apache-2.0
-- Runs code for agent.pl in one Lua state. Orders come as lines, code in a file; answers are
-- records "token kind text" that end with NUL.
--
-- Code runs in the global environment, so what lives on between executions are globals. A `local`
-- lasts for one execution, as in Lua's own interactive mode.

-- The guest may replace any global. What the driver needs it holds itself.
local open, load, pcall, xpcall, error = io.open, load, pcall, xpcall, error
local traceback, tostring, type, pairs, next = debug.traceback, tostring, type, pairs, next
local rawget, tonumber, exit = rawget, tonumber, os.exit
local pack, unpack, move, concat, sort =
  table.pack, table.unpack, table.move, table.concat, table.sort
local sub, gsub, find, match, gmatch, char =
  string.sub, string.gsub, string.find, string.match, string.gmatch, string.char
local stdout, stderr, getenv, globals = io.stdout, io.stderr, os.getenv, _G

local CODE = "/proc/self/fd/62"
local MAX_RESULT = 8 << 20

local orders = open("/proc/self/fd/60", "rb")
local records = open("/proc/self/fd/63", "wb")
-- A pipe opened by its name is a new descriptor, and it is not close-on-exec. Programs started by
-- the guest can hold it; the front therefore goes by the child's end, not by the pipe's.
records:setvbuf("full")
stdout:setvbuf("line")

local token, environment, count, running = "", {}, "0", false
-- From an execution's order until its end is said: an interrupt may come at any moment between.
local unfinished = false

local function say(kind, text)
  records:write(token, " ", kind, " ", (gsub(text or "", "%z", "\\0")), "\0")
  records:flush()
end

local function flush()
  pcall(stdout.flush, stdout)
  pcall(stderr.flush, stderr)
end

local function read_code()
  local file <close> = open(CODE, "rb")
  return file:read("a")
end

-- Standard input, line by line, asked of the caller.
local pending = ""
local function ask()
  flush()
  say("input", "")
  while true do
    local line = orders:read("l")
    if line == nil or line == "eof" then return nil end
    if line == "text" then
      local text = read_code()
      return sub(text, -1) == "\n" and text or text .. "\n"
    end
  end
end

local function read_one(format)
  if type(format) == "string" then format = gsub(format, "^%*", "") end
  if format == "a" then
    local all = pending
    for text in ask do all = all .. text end
    pending = ""
    return all
  end
  if pending == "" then
    pending = ask() or ""
    if pending == "" then return nil end
  end
  local taken
  if type(format) == "number" then
    taken = sub(pending, 1, format)
    pending = sub(pending, format + 1)
    return taken
  end
  taken, pending = match(pending, "^([^\n]*\n?)(.*)$")
  if sub(format, 1, 1) == "L" then return taken end
  taken = gsub(taken, "\n$", "")
  if sub(format, 1, 1) == "n" then return tonumber(taken) end
  return taken
end

local input, read = io.input, io.read
local standard_input = io.stdin
function io.read(...)
  if not running or input() ~= standard_input then return read(...) end
  local formats = pack(...)
  if formats.n == 0 then return read_one("l") end
  local values = {}
  for index = 1, formats.n do
    values[index] = read_one(formats[index])
    if values[index] == nil then break end
  end
  return unpack(values, 1, formats.n)
end

function os.getenv(name)
  local value = environment[name]
  if value ~= nil then return value end
  return getenv(name)
end

glovebox = {}
-- Shows a value of a MIME type, for example glovebox.display("text/html", "<b>x</b>").
function glovebox.display(mime, text)
  if not match(mime, "^[%w.+-]+/[%w.+-]+$") then error("not a MIME type: " .. mime, 2) end
  flush()
  say("display", mime .. " " .. tostring(text))
end

local function describe(value)
  local well, text = pcall(tostring, value)
  return well and text or "(a " .. type(value) .. " that cannot be shown)"
end

local function show(results)
  if results.n == 0 then return end
  local texts, size = {}, 0
  for index = 1, results.n do
    local text = describe(results[index])
    size = size + #text
    if size > MAX_RESULT then text = sub(text, 1, 1000) .. "... (cut)" end
    texts[index] = text
  end
  if results.n > 1 or results[1] ~= nil then say("result", concat(texts, "\t")) end
end

local function handler(problem)
  if type(problem) == "string" then return traceback(problem, 2) end
  return describe(problem)
end

local function compile(code)
  local name = "=cell " .. count
  local chunk = load("return " .. code, name, "t")
  if chunk then return chunk end
  return load(code, name, "t")
end

local function execute()
  local chunk, problem = compile(read_code())
  if not chunk then
    say("error", "SyntaxError " .. problem)
    return
  end
  running = true
  say("started")
  local results = pack(xpcall(chunk, handler))
  running = false
  flush()
  if results[1] then
    move(results, 2, results.n, 1)
    results.n = results.n - 1
    show(results)
    say("ok")
  else
    local text = results[2]
    -- The lines below the code's own are the driver's.
    text = gsub(text, "\n%s*%[C%]: in function 'xpcall'.*$", "")
    say("error", (find(text, "interrupted!", 1, true) and "Interrupt " or "Error ") .. text)
  end
end

local function is_complete()
  local code = read_code()
  local chunk, problem = compile(code)
  if chunk then return "complete" end
  local _, other = load("return " .. code, "=cell", "t")
  return (find(other, "<eof>$") or find(problem, "<eof>$")) and "incomplete" or "invalid"
end

local function complete()
  local path, stem = match(read_code(), "^(.-)([^.:]*)$")
  local value = globals
  for part in gmatch(path, "[^.:]+") do
    if type(value) ~= "table" then return "" end
    value = rawget(value, part)
  end
  if type(value) ~= "table" then return "" end
  local names = {}
  for name in next, value do
    if type(name) == "string" and sub(name, 1, #stem) == stem and match(name, "^[%a_][%w_]*$")
        and #names < 1000 then
      names[#names + 1] = name
    end
  end
  sort(names)
  return concat(names, "\n")
end

local function unhex(text)
  return (gsub(text, "%x%x", function(pair) return char(tonumber(pair, 16)) end))
end

local function obey(line)
  local verb, rest = match(line, "^(%S+) ?(.*)$")
  if verb == "env" then
    local name, value = match(rest, "^(%x*) (%x*)$")
    environment[unhex(name)] = unhex(value)
  elseif verb == "execute" then
    token, count = match(rest, "^(%S+) (%d+)$")
    unfinished = true
    execute()
    unfinished = false
    environment = {}
  elseif verb == "is_complete" then
    token = rest
    say("reply", is_complete())
  elseif verb == "complete" then
    token = rest
    local well, names = pcall(complete)
    say("reply", well and names or "")
  end
end

-- Serves until an interrupt comes or "rearm" is ordered; then the command line calls it again.
return function()
  local well, problem = pcall(function()
    while true do
      local line = orders:read("l")
      if line == nil then exit(0) end
      if line == "rearm" then return end
      obey(line)
    end
  end)
  if well then return end
  -- A record that the interrupt cut off ends here.
  records:write("\0")
  records:flush()
  if unfinished or not find(describe(problem), "interrupted!", 1, true) then
    running, unfinished, environment = false, false, {}
    -- Of two ends the front takes the first.
    say("error", "Interrupt interrupted!")
  end
end
