# SPDX-License-Identifier: Apache-2.0
# Serves Ruby on descriptor 3.
require_relative 'session'

Glovebox.start(Glovebox::Frames.take_over(3)) do |session|
  Signal.trap('INT') { session.interrupt }
  Signal.trap('PIPE', 'IGNORE')
end
exit!(0)
