C     Column one holds the mark of a comment, as on a card.
      PROGRAM ANSWER
      WRITE (*, *) 6 *
     +  7
      END
