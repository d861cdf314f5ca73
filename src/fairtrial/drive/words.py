"""Plain words for text prompts: most tokenizers have a token for each with its leading space."""

_TEXT = (
    "able about above across action after again age air all almost along also always among animal "
    "answer any area around art ask away baby back bank base bed before begin behind best better "
    "between big bird black blood blue board boat body book both box boy bring brother build bus "
    "business buy call came car care case cat cause center chance change child church city clear "
    "close cold color come common cost could country course cut dark day deal death deep did dog door "
    "down draw drive dry early earth east easy eat effect eight end enough even every example eye "
    "face fact fall family far farm fast father feel few field final fine fire first fish five floor "
    "follow food foot force form four free friend full game gave girl give glass gold good great "
    "green ground group grow half hand happy hard head hear heart heat heavy help high hill history "
    "hold home hope horse hot hour house human hundred ice idea inch island job just keep kind king "
    "know lake land language large last late law lay lead learn leave left less letter level life "
    "light like line list little live local long look lost love low machine main make man many map "
    "mark market matter mean measure meet mile milk mind minute miss money month moon more morning "
    "most mother mountain move much music name near need never new next night north note nothing "
    "number ocean off office often oil old once one only open order other over own page paper park "
    "part past pay people person picture piece place plan plant play point power"
)

WORDS: tuple[str, ...] = tuple(_TEXT.split())
